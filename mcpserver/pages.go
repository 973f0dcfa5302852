package mcpserver

import (
	"crypto/rand"
	"sync"
)

// pages keeps the pages that cursors lead to, the latest of them. A cursor
// that held the page itself would grow with it, and a model would have to
// repeat it letter by letter.
type pages struct {
	mu      sync.Mutex // guards what follows
	byName  map[string]page
	ordered []string // names, the oldest first
}

// maxPages is far more than one conversation comes back to.
const maxPages = 100

// keep returns the cursor of a page.
func (p *pages) keep(next page) string {
	name := rand.Text()[:12]
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byName == nil {
		p.byName = make(map[string]page)
	}
	p.byName[name] = next
	p.ordered = append(p.ordered, name)
	if len(p.ordered) > maxPages {
		delete(p.byName, p.ordered[0])
		p.ordered = p.ordered[1:]
	}
	return name
}

func (p *pages) find(name string) (page, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	found, ok := p.byName[name]
	return found, ok
}
