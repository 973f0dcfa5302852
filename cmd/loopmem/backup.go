package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/loopmem/loopmem/jsonlimport"
	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/sqlitestore"
)

// databasesOnly makes the function of a command that works on databases, and
// not on JSONL files.
func databasesOnly(do func(cmd *cobra.Command, store *sqlitestore.Store, args []string) error) func(*cobra.Command, memory.Backend, []string) error {
	return func(cmd *cobra.Command, store memory.Backend, args []string) error {
		database, ok := store.(*sqlitestore.Store)
		if !ok {
			return fmt.Errorf("%s works on databases; a JSONL file is one that any program can copy and look at", cmd.CommandPath())
		}
		return do(cmd, database, args)
	}
}

// databaseFile returns the path of the database for a command that looks at
// the file rather than opening the store.
func (a *app) databaseFile(cmd *cobra.Command) (string, error) {
	path, _, err := a.databasePath()
	if err == nil && strings.EqualFold(filepath.Ext(path), ".jsonl") {
		err = fmt.Errorf("%s works on databases, and %s is a JSONL file", cmd.CommandPath(), path)
	}
	return path, err
}

// whole refuses a command that cannot be restricted to a part of the store.
func (a *app) whole(cmd *cobra.Command, _ []string) error {
	if !a.scope.Whole() {
		return usage(cmd, "%s works on the whole database; leave out --namespace and --clearance", cmd.Name())
	}
	return nil
}

// copying shows how far a copy of pages has come.
func copying(p progress) func(done, total int64) {
	return func(done, total int64) {
		p.update(jsonlimport.Progress{Phase: jsonlimport.Copying, Done: done, Total: total})
	}
}

func backupCommand(a *app) *cobra.Command {
	var options sqlitestore.BackupOptions
	var quiet bool
	cmd := &cobra.Command{
		Use:   "backup DEST",
		Short: "Copy the database while others use it",
		Long: `Copy the database to a new file, as it is at this moment, while other processes
go on reading and writing. The copy appears under its name once it is complete,
checked and on the disk. Copying the file by other means would miss what is
still in the log beside it.`,
		Example: `  loopmem backup memory-$(date +%F).db
  loopmem backup /mnt/usb/memory.db --overwrite`,
		Args:    arguments(cobra.ExactArgs(1), "takes the file to make"),
		PreRunE: a.whole,
		RunE: a.withStore(changing, databasesOnly(func(cmd *cobra.Command, store *sqlitestore.Store, args []string) error {
			if err := a.refuseOwnFile(args[0], "name another file to copy to"); err != nil {
				return err
			}
			progress := a.progress(quiet)
			options.Progress = copying(progress)
			err := store.Backup(cmd.Context(), args[0], options)
			progress.finish()
			if err != nil {
				return adviseBackup(args[0], err)
			}
			info, err := os.Stat(args[0])
			if err != nil {
				return err
			}
			return a.answer(struct {
				Backup string `json:"backup"`
				Bytes  int64  `json:"bytes"`
			}{args[0], info.Size()}, "backed up to %s, %s", visible(args[0]), humanize.IBytes(uint64(info.Size())))
		})),
	}
	cmd.Flags().BoolVar(&options.Overwrite, "overwrite", false, "replace DEST if it exists")
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "show no progress")
	return cmd
}

// adviseBackup says what to do about a place where no backup can be made.
func adviseBackup(dest string, err error) error {
	switch {
	case errors.Is(err, fs.ErrExist):
		return &advisedError{err, "(--overwrite replaces it)"}
	case errors.Is(err, fs.ErrNotExist) && !isFolder(filepath.Dir(dest)):
		return fmt.Errorf("%s cannot be made, since its folder does not exist; make that first", dest)
	default:
		return err
	}
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func restoreCommand(a *app) *cobra.Command {
	var options sqlitestore.BackupOptions
	var quiet bool
	cmd := &cobra.Command{
		Use:   "restore SRC",
		Short: "Put a backup in the place of the database",
		Long: `Put the copy that "loopmem backup" made in the place of the database, as it was
then; SRC stays as it is. The database that is replaced is kept beside it under
another name, which is printed. No other program may have the database open.`,
		Example: `  loopmem restore memory-2026-03-01.db
  loopmem restore old.db --db elsewhere.db`,
		Args:    arguments(cobra.ExactArgs(1), "takes the backup"),
		PreRunE: a.whole,
		RunE: a.action(func(cmd *cobra.Command, args []string) error {
			path, err := a.databaseFile(cmd)
			if err != nil {
				return err
			}
			progress := a.progress(quiet)
			options.Progress, options.BusyTimeout = copying(progress), a.wait
			replaced, err := sqlitestore.RestoreBackup(cmd.Context(), path, args[0], options)
			progress.finish()
			if err != nil {
				return err
			}
			kept := ""
			if replaced != "" {
				kept = "; what was there is now " + visible(replaced)
			}
			return a.answer(struct {
				Restored string `json:"restored"`
				Replaced string `json:"replaced,omitempty"`
			}{path, replaced}, "restored %s%s", visible(path), kept)
		}),
	}
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "show no progress")
	return cmd
}
