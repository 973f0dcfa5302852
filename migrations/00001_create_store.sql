-- Every time is in nanoseconds since 1970, UTC. Every list of ids is a blob of
-- 16 bytes an id.

-- +goose Up

-- One row for the whole store.
CREATE TABLE store (
    only_row             INTEGER PRIMARY KEY CHECK (only_row = 1),
    version              INTEGER NOT NULL, -- counts the write transactions
    entries              INTEGER NOT NULL, -- how many there are
    content_sum          INTEGER NOT NULL, -- exclusive or of their content checksums: none is missing
    vocabulary_epoch     INTEGER NOT NULL, -- changes when a piece or tag is dropped
    index_version        INTEGER NOT NULL, -- of the code that filled the indexes
    last_consolidated    INTEGER,
    embedding_model      TEXT,             -- which all embeddings come from
    embedding_dimensions INTEGER
) STRICT;
INSERT INTO store (only_row, version, entries, content_sum, vocabulary_epoch, index_version) VALUES (1, 0, 0, 0, 0, 0);

-- What an entry says. The wide columns come last, so that the narrow ones are
-- read without them.
CREATE TABLE entry (
    row_id           INTEGER PRIMARY KEY AUTOINCREMENT, -- names the row in every index; never reused
    id               BLOB    NOT NULL UNIQUE CHECK (length(id) = 16),
    version          INTEGER NOT NULL, -- store.version when the content last changed
    checksum         INTEGER NOT NULL, -- over the content and the embedding
    importance       INTEGER NOT NULL,
    memory_type      INTEGER NOT NULL, -- 0 episodic, 1 semantic, 2 reflection
    confidentiality  INTEGER NOT NULL, -- 0 public, 1 internal, 2 confidential, 3 restricted
    validated        INTEGER NOT NULL,
    pinned           INTEGER NOT NULL,
    category         TEXT    NOT NULL,
    agent            TEXT    NOT NULL,
    author_user_id   TEXT    NOT NULL,
    author_tenant_id TEXT    NOT NULL,
    tags             TEXT    NOT NULL, -- JSON array of strings, as are keywords
    keywords         TEXT    NOT NULL,
    attributes       TEXT    NOT NULL, -- JSON object of strings
    related_ids      BLOB    NOT NULL,
    source_ids       BLOB    NOT NULL,
    summary          TEXT    NOT NULL,
    memory           TEXT    NOT NULL
) STRICT;
CREATE INDEX entry_by_agent ON entry (agent);
CREATE INDEX entry_by_category ON entry (category);

-- What reading and consolidating change, apart from the text, so that a pass
-- over the whole store rewrites as little as possible.
CREATE TABLE entry_state (
    row_id        INTEGER PRIMARY KEY REFERENCES entry (row_id) ON DELETE CASCADE,
    position      INTEGER NOT NULL UNIQUE, -- insertion order
    created_at    INTEGER NOT NULL,
    version       INTEGER NOT NULL,        -- store.version when the row last changed
    checksum      INTEGER NOT NULL,
    relevance     REAL    NOT NULL,
    strength      REAL    NOT NULL,
    zero_signs    INTEGER NOT NULL, -- which of them is -0, which REAL cannot hold: 1 relevance, 2 strength
    access_count  INTEGER NOT NULL,
    last_accessed INTEGER,
    last_decayed  INTEGER,
    strength_base INTEGER NOT NULL, -- last_accessed, or else created_at
    fade          REAL    NOT NULL, -- orders rows as their effective strength does, at any time
    root          TEXT    NOT NULL, -- memory.Root of the agent, here for the index
    -- The relevance as Retrieve counts it.
    ranked REAL GENERATED ALWAYS AS (CASE WHEN relevance BETWEEN 0 AND 1 THEN relevance ELSE 0 END) VIRTUAL
) STRICT;
CREATE INDEX entry_state_by_relevance ON entry_state (ranked DESC, position);
CREATE INDEX entry_state_by_fade ON entry_state (fade, strength_base, created_at, position);
CREATE INDEX entry_state_by_strength_base ON entry_state (strength_base);
CREATE INDEX entry_state_by_root ON entry_state (root, created_at, position); -- what was said before and after

CREATE TABLE embedding (
    row_id INTEGER PRIMARY KEY REFERENCES entry (row_id) ON DELETE CASCADE,
    vector BLOB NOT NULL -- float32, little-endian
) STRICT;

-- Accesses by Retrieve that the next consolidation is to count.
CREATE TABLE access_stamp (
    row_id      INTEGER PRIMARY KEY REFERENCES entry (row_id) ON DELETE CASCADE,
    accessed_at INTEGER NOT NULL
) STRICT;

-- Rows that are gone, for processes that remember them.
CREATE TABLE tombstone (
    row_id  INTEGER PRIMARY KEY,
    version INTEGER NOT NULL
) STRICT;

-- What consolidation, Prune and the capacity bound took out.
CREATE TABLE archive (
    archive_id  INTEGER PRIMARY KEY,
    id          BLOB    NOT NULL,
    archived_at INTEGER NOT NULL,
    reason      TEXT    NOT NULL CHECK (reason IN ('merged', 'pruned', 'evicted')),
    merged_into BLOB,
    checksum    INTEGER NOT NULL, -- over all of these but archive_id
    entry       TEXT    NOT NULL  -- in the JSONL form
) STRICT;
CREATE INDEX archive_by_id ON archive (id);
CREATE INDEX archive_by_time ON archive (archived_at);

-- Everything below is derived from the rows above, and can be filled anew
-- from them.

-- The distinct pieces (see memory.Pieces) of all texts and keywords.
CREATE TABLE piece (
    piece_id INTEGER PRIMARY KEY,
    piece    TEXT NOT NULL UNIQUE,
    word     TEXT -- memory.Word of the piece where that differs from it
) STRICT;
CREATE INDEX piece_by_word ON piece (word) WHERE word IS NOT NULL;

-- Finds the pieces that contain three characters or more.
CREATE VIRTUAL TABLE piece_trigram USING fts5 (
    piece, content = '', contentless_delete = 1, detail = none,
    tokenize = 'trigram case_sensitive 1'
);

CREATE TABLE tag (
    tag_id  INTEGER PRIMARY KEY,
    tag     TEXT NOT NULL UNIQUE,
    lowered TEXT NOT NULL
) STRICT;

-- The distinct terms (see memory.Terms) by which questions find entries.
CREATE TABLE term (
    term_id INTEGER PRIMARY KEY,
    term    TEXT NOT NULL UNIQUE
) STRICT;

-- Which rows hold which pieces, tags and terms. The tokens are not the words but
-- their ids: m12 for piece 12 in the text, k12 for piece 12 in a keyword, t3
-- for tag 3, s4 for term 4. So no tokenizer can disagree with the contract, and no text
-- stays behind in the index of an entry that was forgotten.
CREATE VIRTUAL TABLE posting USING fts5 (
    tokens, content = '', contentless_delete = 1, detail = none,
    tokenize = 'ascii'
);

-- The postings one by one, as (term, doc); it holds nothing itself.
CREATE VIRTUAL TABLE posting_instance USING fts5vocab (posting, instance);

-- Which rows name an id among their related ids.
CREATE TABLE link (
    target BLOB    NOT NULL,
    row_id INTEGER NOT NULL REFERENCES entry (row_id) ON DELETE CASCADE,
    PRIMARY KEY (target, row_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX link_by_row ON link (row_id);

PRAGMA user_version = 1;

-- +goose Down
DROP TABLE link;
DROP TABLE posting_instance;
DROP TABLE posting;
DROP TABLE term;
DROP TABLE tag;
DROP TABLE piece_trigram;
DROP TABLE piece;
DROP TABLE archive;
DROP TABLE tombstone;
DROP TABLE access_stamp;
DROP TABLE embedding;
DROP TABLE entry_state;
DROP TABLE entry;
DROP TABLE store;
PRAGMA user_version = 0;
