package sqlitestore

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/gofrs/flock"
)

// temporary is a database in the making, beside the one that it is to become.
// Beside it in turn lies a claim, which is locked for as long as the process is
// at work. If that dies, the kernel lets go of the lock, and whoever makes the
// next temporary file in the folder sweeps what is left.
//
// The claim is a file of its own, since it must be one that SQLite does not
// open: where there are POSIX locks only, closing any descriptor of a database
// drops all locks that the process has on it.
type temporary struct {
	path  string
	claim *flock.Flock
}

const claimSuffix = ".claim"

// claimName is the form of .NAME-DIGITS.loopmem.claim, which no other program
// uses.
var claimName = regexp.MustCompile(`^\..+-[0-9]+\.loopmem\` + claimSuffix + `$`)

// newTemporary makes an empty file with mode 0600 that is to become the one at
// path.
func newTemporary(path string) (*temporary, error) {
	folder, name := filepath.Split(path)
	sweep(folder)
	for {
		t, err := claim(folder, name)
		if t != nil || err != nil {
			return t, err
		}
	}
}

// claim is newTemporary, unless another process took the claim for one that was
// left, in the moment before it was locked: then it returns nil.
func claim(folder, name string) (*temporary, error) {
	file, err := os.CreateTemp(folder, "."+name+"-*.loopmem"+claimSuffix)
	if err != nil {
		return nil, err
	}
	if err := file.Close(); err != nil {
		return nil, err
	}
	t := temporaryOf(file.Name())
	if locked, err := t.claim.TryLock(); err != nil || !locked {
		return nil, err
	}
	if _, err := os.Lstat(file.Name()); err != nil { // what is locked has no name any more
		t.remove()
		return nil, nil
	}
	if err := os.WriteFile(t.path, nil, 0o600); err != nil {
		t.remove()
		return nil, err
	}
	return t, nil
}

func temporaryOf(claim string) *temporary {
	return &temporary{path: strings.TrimSuffix(claim, claimSuffix), claim: newLock(claim)}
}

// remove removes what has not been given another name, and the claim last.
func (t *temporary) remove() {
	for _, side := range []string{"", "-wal", "-shm", "-journal", ".lock"} {
		_ = os.Remove(t.path + side)
	}
	_ = t.claim.Unlock()
	_ = os.Remove(t.claim.Path())
}

// sweep removes the temporary files in a folder whose processes are dead. What
// cannot be removed does no harm.
func sweep(folder string) {
	siblings, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, sibling := range siblings {
		if !sibling.Type().IsRegular() || !claimName.MatchString(sibling.Name()) {
			continue
		}
		t := temporaryOf(filepath.Join(folder, sibling.Name()))
		if locked, err := t.claim.TryLock(); err == nil && locked {
			t.remove()
		}
	}
}
