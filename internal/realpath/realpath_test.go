package realpath_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/loopmem/loopmem/internal/realpath"
)

// must returns a function that stops the test on any error.
func must(t *testing.T) func(error) {
	return func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestResolve(t *testing.T) {
	must := must(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(err)
	in := func(name string) string { return dir + string(filepath.Separator) + filepath.FromSlash(name) }
	must(os.MkdirAll(in("real/deep"), 0o700))
	must(os.WriteFile(in("real/there"), nil, 0o600))
	for link, target := range map[string]string{
		"dir":             "real/deep",    // a folder
		"file":            "real/there",   // a file
		"absolute":        in("file"),     // by way of another link
		"real/up":         "../file",      // out of its folder
		"dangling":        "real/missing", // to nothing
		"chain":           "dangling",     // to a link to nothing
		"dangling-up":     "dir/../missing",
		"dangling-folder": "nowhere/deep/missing",
		"loop":            "loop",
	} {
		must(os.Symlink(filepath.FromSlash(target), in(link)))
	}
	t.Chdir(in("dir")) // $PWD then has a link in it

	for _, test := range []struct{ path, want string }{
		{in("real/there"), "real/there"},
		{in("real//./there"), "real/there"},
		{in("real/deep/../there"), "real/there"},
		{"../there", "real/there"},
		{"./../../file", "real/there"},
		{"new", "real/deep/new"},
		{in("dir/new"), "real/deep/new"},
		{in("dir/../there"), "real/there"}, // not there beside dir
		{in("dir/../missing"), "real/missing"},
		{in("file"), "real/there"},
		{in("absolute"), "real/there"},
		{in("real/up"), "real/there"},
		{in("dangling"), "real/missing"},
		{in("chain"), "real/missing"},
		{in("dangling-up"), "real/missing"},
		{in("dangling-folder"), "nowhere/deep/missing"},
		{in("missing"), "missing"},
		{in("no/such/folder/file"), "no/such/folder/file"},
		{in("no/such/../file"), "no/file"},
		{in("missing/"), "missing"},
		{"~", "real/deep/~"}, // for the shell to expand
	} {
		if got, err := realpath.Resolve(filepath.FromSlash(test.path)); err != nil || got != in(test.want) {
			t.Errorf("%s resolves to %s, %v, want %s", test.path, got, err, in(test.want))
		}
	}
	for _, path := range []string{"", in("loop"), in("loop/file"), in("real/there/file")} {
		if got, err := realpath.Resolve(path); err == nil {
			t.Errorf("%q resolves to %s, want an error", path, got)
		}
	}
}
