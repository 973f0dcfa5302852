//go:build !windows

package jsonlimport

import (
	"path/filepath"

	"github.com/google/renameio/v2"
)

func newReplacement(path string) (replacement, error) {
	return renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)), renameio.WithStaticPermissions(0o600))
}
