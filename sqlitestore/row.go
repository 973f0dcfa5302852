package sqlitestore

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"

	"github.com/loopmem/loopmem/memory"
)

// row is an entry as it is stored.
type row struct {
	rowID    int64
	position int64
	version  int64
	entry    memory.Entry
	// checksums as stored; see damage.go
	contentSum, stateSum int64
}

func (r *row) record() memory.Record {
	return memory.Record{Entry: r.entry, Version: uint64(r.version)}
}

func (r *row) candidate() memory.Candidate {
	return memory.Candidate{Entry: r.entry, Position: r.position}
}

// selectRows reads whole entries; a WHERE and an ORDER BY may follow.
const selectRows = `
	SELECT e.row_id, e.id, e.version, e.checksum, e.importance, e.memory_type,
	       e.confidentiality, e.validated, e.pinned, e.category, e.agent, e.author_user_id,
	       e.author_tenant_id, e.tags, e.keywords, e.attributes, e.related_ids, e.source_ids,
	       e.summary, e.memory,
	       s.position, s.checksum, s.created_at, s.relevance, s.strength, s.zero_signs, s.access_count,
	       s.last_accessed, s.last_decayed,
	       v.vector
	FROM entry AS e
	JOIN entry_state AS s USING (row_id)
	LEFT JOIN embedding AS v USING (row_id) `

// Orders in which to read them.
const (
	inOrder   = " ORDER BY s.position"
	inReverse = " ORDER BY s.position DESC"
)

// rows reads the entries that meet the condition.
func (t *tx) rows(c condition, order string) (found []row, err error) {
	err = t.eachRow(func(r row) error {
		found = append(found, r)
		return nil
	}, c, order)
	return found, err
}

func (t *tx) eachRow(visit func(row) error, c condition, order string) error {
	return t.each(func(rows *sqlx.Rows) error {
		r, err := scanRow(rows)
		if err != nil {
			return err
		}
		return visit(r)
	}, selectRows+c.sql()+order, c.args...)
}

// rowsByID reads the rows of those row ids that exist and meet the condition.
func (t *tx) rowsByID(rowIDs []int64, c condition) ([]row, error) {
	list, err := json.Marshal(rowIDs)
	if err != nil {
		return nil, err
	}
	return t.rows(where("e.row_id IN (SELECT value FROM json_each(?))", string(list)).and(c), "")
}

func scanRow(rows *sqlx.Rows) (row, error) {
	var r row
	var now state
	var tags, keywords, attributes string
	var related, sources, vector []byte
	e := &r.entry
	err := rows.Scan(
		&r.rowID, &e.ID, &r.version, &r.contentSum, &e.Importance, &e.MemoryType,
		&e.Confidentiality, &e.Validated, &e.Pinned, &e.Category, &e.Agent, &e.AuthorUserID,
		&e.AuthorTenantID, &tags, &keywords, &attributes, &related, &sources,
		&e.Summary, &e.Memory,
		&r.position, &r.stateSum, &now.CreatedAt, &now.Relevance, &now.Strength, &now.ZeroSigns, &now.AccessCount,
		&now.LastAccessed, &now.LastDecayed,
		&vector,
	)
	if err != nil {
		return row{}, cannotRead("entry "+e.ID.String(), err)
	}
	now.fill(e)
	e.Embedding = decodeVector(vector)
	var errs [6]error
	e.Tags, errs[0] = decodeList(tags)
	e.Keywords, errs[1] = decodeList(keywords)
	e.Attributes, errs[2] = decodeMap(attributes)
	e.RelatedIDs, errs[3] = decodeIDs(related)
	e.SourceIDs, errs[4] = decodeIDs(sources)
	if len(vector)%componentSize != 0 {
		errs[5] = fmt.Errorf("its embedding has %d bytes", len(vector))
	}
	if err := errors.Join(errs[:]...); err != nil {
		return row{}, cannotRead("entry "+e.ID.String(), err)
	}
	return r, nil
}

// state is what the table entry_state holds of an entry.
type state struct {
	CreatedAt    int64   `db:"created_at"`
	Relevance    float32 `db:"relevance"`
	Strength     float64 `db:"strength"`
	ZeroSigns    int     `db:"zero_signs"`
	AccessCount  uint64  `db:"access_count"`
	LastAccessed *int64  `db:"last_accessed"`
	LastDecayed  *int64  `db:"last_decayed"`
}

// fill sets the state of the entry.
func (s *state) fill(e *memory.Entry) {
	e.CreatedAt = fromNanos(s.CreatedAt)
	e.Relevance, e.Strength, e.AccessCount = s.Relevance, s.Strength, s.AccessCount
	e.LastAccessed, e.LastDecayed = fromOptionalNanos(s.LastAccessed), fromOptionalNanos(s.LastDecayed)
	if s.ZeroSigns&relevanceSign != 0 {
		e.Relevance = float32(math.Copysign(float64(e.Relevance), -1))
	}
	if s.ZeroSigns&strengthSign != 0 {
		e.Strength = math.Copysign(e.Strength, -1)
	}
}

// The bits of zero_signs. SQLite stores a REAL of -0.0 as the integer 0, and
// an export would then not be the file that was imported.
const (
	relevanceSign = 1 << iota
	strengthSign
)

func zeroSigns(e *memory.Entry) (signs int) {
	if e.Relevance == 0 && math.Signbit(float64(e.Relevance)) {
		signs |= relevanceSign
	}
	if e.Strength == 0 && math.Signbit(e.Strength) {
		signs |= strengthSign
	}
	return signs
}

// Times are integers everywhere: text times do not sort, and the driver would
// store a time.Time in the form of its String method.
func nanos(t time.Time) int64 { return t.UnixNano() }

func optionalNanos(t *time.Time) *int64 {
	if t == nil {
		return nil
	}
	return new(t.UnixNano())
}

func fromNanos(n int64) time.Time { return time.Unix(0, n).UTC() }

func fromOptionalNanos(n *int64) *time.Time {
	if n == nil {
		return nil
	}
	return new(fromNanos(*n))
}

// encodeList writes the most frequent list, the empty one, without the
// encoder; so does encodeMap.
func encodeList(list []string) string {
	if len(list) == 0 {
		return "[]"
	}
	text, _ := json.Marshal(list) // strings do not fail
	return string(text)
}

func decodeList(text string) (list []string, err error) {
	if text == "[]" {
		return nil, nil
	}
	if list, ok := splitList(text); ok {
		return list, nil
	}
	err = json.Unmarshal([]byte(text), &list)
	return list, err
}

// splitList decodes what encodeList has written where nothing is escaped, as in
// nearly all lists, in a tenth of the time that the decoder takes. Without
// escapes, every quotation mark is one around a text.
func splitList(text string) (list []string, ok bool) {
	inner, ok := strings.CutPrefix(text, `["`)
	if !ok {
		return nil, false
	}
	inner, ok = strings.CutSuffix(inner, `"]`)
	if !ok || strings.IndexByte(inner, '\\') >= 0 || !utf8.ValidString(inner) {
		return nil, false
	}
	list = strings.Split(inner, `","`)
	for _, one := range list {
		if strings.ContainsFunc(one, func(r rune) bool { return r == '"' || r < ' ' }) {
			return nil, false
		}
	}
	return list, true
}

func encodeMap(m map[string]string) string {
	if len(m) == 0 {
		return "{}"
	}
	text, _ := json.Marshal(m)
	return string(text)
}

func decodeMap(text string) (m map[string]string, err error) {
	if text == "{}" {
		return nil, nil
	}
	err = json.Unmarshal([]byte(text), &m)
	return m, err
}

func encodeIDs(ids []uuid.UUID) []byte {
	blob := make([]byte, 0, len(ids)*len(uuid.Nil))
	for _, id := range ids {
		blob = append(blob, id[:]...)
	}
	return blob
}

func decodeIDs(blob []byte) ([]uuid.UUID, error) {
	if len(blob)%len(uuid.Nil) != 0 {
		return nil, fmt.Errorf("a list of ids has %d bytes", len(blob))
	}
	var ids []uuid.UUID
	for ; len(blob) > 0; blob = blob[len(uuid.Nil):] {
		ids = append(ids, uuid.UUID(blob[:len(uuid.Nil)]))
	}
	return ids, nil
}

// componentSize is the size of a component of a stored vector, in bytes.
const componentSize = 4

func encodeVector(vector []float32) []byte {
	blob := make([]byte, 0, componentSize*len(vector))
	for _, x := range vector {
		blob = binary.LittleEndian.AppendUint32(blob, math.Float32bits(x))
	}
	return blob
}

func decodeVector(blob []byte) []float32 {
	if len(blob) < componentSize {
		return nil
	}
	return appendVector(make([]float32, 0, len(blob)/componentSize), blob)
}

func appendVector(vector []float32, blob []byte) []float32 {
	for ; len(blob) >= componentSize; blob = blob[componentSize:] {
		vector = append(vector, math.Float32frombits(binary.LittleEndian.Uint32(blob)))
	}
	return vector
}
