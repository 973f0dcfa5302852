package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/loopmem/loopmem/internal/atomicfile"
	"github.com/loopmem/loopmem/internal/realpath"
	"github.com/loopmem/loopmem/jsonlimport"
	"github.com/loopmem/loopmem/memory"
)

func exportCommand(a *app) *cobra.Command {
	var selection memory.Selection
	var format jsonlimport.Format = jsonlimport.Loopctl{}
	cmd := &cobra.Command{
		Use:   "export [FILE]",
		Short: "Write entries as JSONL",
		Long: `Write entries as JSONL, in the order in which they came, to a file or, without
FILE or with -, to standard output. It is one snapshot of the store, whatever
others write meanwhile. The file appears when it is complete, with mode 0600,
and takes the place of one that is there, unless that is a database.`,
		Example: `  loopmem export backup.jsonl
  loopmem export --agent-prefix tg:123: | gzip > tg123.jsonl.gz
  loopmem export --format graph memory.jsonl`,
		Args: arguments(cobra.MaximumNArgs(1), "takes one file"),
		RunE: a.withStore(reading, func(cmd *cobra.Command, store memory.Backend, args []string) error {
			write := func(w io.Writer) (jsonlimport.ExportReport, error) {
				return jsonlimport.Export(cmd.Context(), store, selection, format, w)
			}
			if len(args) == 0 || args[0] == "-" {
				report, err := spooled(cmd.Context(), a.out, write)
				a.warn(report.Warnings)
				return err
			}
			path := args[0]
			if err := a.refuseOwnFile(path, "name another file to export to"); err != nil {
				return err
			}
			if err := refuseDatabase(path); err != nil {
				return err
			}
			report, err := toFile(cmd.Context(), path, write)
			a.warn(report.Warnings)
			if err != nil {
				return err
			}
			return a.answer(struct {
				jsonlimport.ExportReport
				File string `json:"file"`
			}{report, path}, "exported %s to %s", plural(report.Entries, "entry"), visible(path))
		}),
	}
	filterFlags(cmd.Flags(), &selection.Filter)
	formatFlag(cmd.Flags(), &format, "the form to write (default loopctl)")
	return cmd
}

func (a *app) warn(warnings []string) {
	for _, w := range warnings {
		a.complain(fmt.Errorf("warning: %s", w))
	}
}

type exporting func(io.Writer) (jsonlimport.ExportReport, error)

// toFile exports to a file that appears when it is complete. What is no
// regular file, such as a pipe, is written to.
func toFile(ctx context.Context, path string, write exporting) (report jsonlimport.ExportReport, err error) {
	switch info, err := os.Stat(path); {
	case err != nil || info.Mode().IsRegular():
	case info.IsDir():
		return report, fmt.Errorf("%s is a directory; name a file in it", path)
	default:
		stream, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return report, err
		}
		report, err = spooled(ctx, stream, write)
		return report, errors.Join(err, stream.Close())
	}
	// A link is followed, so that it is its target that changes or is made.
	target, err := realpath.Resolve(path)
	if err != nil {
		return report, err
	}
	file, err := atomicfile.New(target)
	if err != nil {
		return report, cannotWrite(path, err)
	}
	defer file.Cleanup()
	if report, err = write(file); err != nil {
		return report, err
	}
	if err := file.CloseAtomicallyReplace(); err != nil {
		return report, cannotWrite(path, err)
	}
	return report, nil
}

// cannotWrite names the file that was asked for in place of the temporary one.
func cannotWrite(path string, err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s cannot be written: %w; make its folder first", path, err)
	}
	return fmt.Errorf("%s cannot be written: %w", path, err)
}

// spooled exports to a stream by way of a temporary file: the snapshot, which
// keeps the log of the database from being emptied, must not be held as long
// as someone reads the stream, and what comes out is all or nothing.
func spooled(ctx context.Context, w io.Writer, write exporting) (report jsonlimport.ExportReport, err error) {
	spool, err := os.CreateTemp("", "loopmem-export-*.jsonl")
	if err != nil {
		return report, err
	}
	defer os.Remove(spool.Name())
	defer spool.Close()
	if report, err = write(spool); err != nil {
		return report, err
	}
	if _, err := spool.Seek(0, io.SeekStart); err != nil {
		return report, err
	}
	_, err = io.Copy(w, &untilDone{ctx, spool})
	return report, err
}

// untilDone reads until the context ends.
type untilDone struct {
	ctx context.Context
	in  io.Reader
}

func (u *untilDone) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.in.Read(p)
}
