package main

import (
	"fmt"
	"io"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/schollz/progressbar/v3"

	"github.com/loopmem/loopmem/jsonlimport"
)

// progress shows how far an import has come.
type progress interface {
	update(jsonlimport.Progress)
	finish()
}

// progress returns a bar if there is a terminal to draw it on; a log gets a
// line now and then.
func (a *app) progress(quiet bool) progress {
	switch {
	case quiet:
		return silence{}
	case a.terminal(a.err) > 0:
		return &barProgress{out: a.err}
	default:
		return &lineProgress{out: a.err, last: time.Now()}
	}
}

type silence struct{}

func (silence) update(jsonlimport.Progress) {}
func (silence) finish()                     {}

// barProgress draws a bar for each phase and takes it away at its end.
type barProgress struct {
	out   io.Writer
	phase jsonlimport.Phase
	bar   *progressbar.ProgressBar
}

func (p *barProgress) update(now jsonlimport.Progress) {
	if now.Phase != p.phase {
		p.finish()
		total := now.Total
		if total == 0 {
			total = -1 // not known: the library draws a spinner
		}
		p.phase = now.Phase
		p.bar = progressbar.NewOptions64(total,
			progressbar.OptionSetWriter(p.out),
			progressbar.OptionSetDescription(string(now.Phase)),
			progressbar.OptionShowBytes(true),
			progressbar.OptionShowCount(),
			progressbar.OptionShowTotalBytes(true),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionClearOnFinish(),
			progressbar.OptionFullWidth(),
			progressbar.OptionSetRenderBlankState(true), // even a short phase is seen
		)
	}
	_ = p.bar.Set64(now.Done) // a bar that cannot be drawn is no reason to stop
}

func (p *barProgress) finish() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}

// lineProgress prints a line every few seconds.
type lineProgress struct {
	out  io.Writer
	last time.Time
}

const lineEvery = 3 * time.Second

func (p *lineProgress) update(now jsonlimport.Progress) {
	if time.Since(p.last) < lineEvery {
		return
	}
	p.last = time.Now()
	total := ""
	if now.Total > 0 {
		total = " of " + humanize.IBytes(uint64(now.Total))
	}
	fmt.Fprintf(p.out, "%s: %s%s, %s\n", now.Phase, humanize.IBytes(uint64(now.Done)), total, plural(now.Entries, "entry"))
}

func (p *lineProgress) finish() {}
