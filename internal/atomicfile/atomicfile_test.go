package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestPlaceNew takes both ways to a name that is free, and to one that is not.
func TestPlaceNew(t *testing.T) {
	for name, place := range map[string]func(temp, path string) error{
		"link":   PlaceNew,
		"rename": claimAndRename,
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			temp, path := filepath.Join(folder, "temp"), filepath.Join(folder, "file")
			for i, want := range []error{nil, fs.ErrExist} {
				if err := os.WriteFile(temp, []byte{byte('a' + i)}, 0o600); err != nil {
					t.Fatal(err)
				}
				if err := place(temp, path); !errors.Is(err, want) {
					t.Errorf("error = %v; want %v", err, want)
				}
				if content, err := os.ReadFile(path); err != nil || string(content) != "a" {
					t.Errorf("the file holds %q (%v); want what came first", content, err)
				}
				if _, err := os.Stat(temp); (err == nil) != (want != nil) {
					t.Errorf("the temporary file: %v", err)
				}
			}
		})
	}
}
