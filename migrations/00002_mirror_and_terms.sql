-- What processes that remember rows need to catch up, the terms of questions in
-- the vocabulary instead of in every entry's postings, and a way from an entry
-- to those that were merged into it.

-- +goose Up

-- The rows that were stored, changed in any way or removed, for processes that
-- remember rows. It grows at its end, where an index by version would be
-- written all over for every access that is counted.
CREATE TABLE change (
    version INTEGER NOT NULL, -- store.version after it
    row_id  INTEGER NOT NULL,
    PRIMARY KEY (version, row_id)
) STRICT, WITHOUT ROWID;
ALTER TABLE store ADD COLUMN changes_since INTEGER NOT NULL DEFAULT 0; -- after which version the table change knows all of them
UPDATE store SET changes_since = version;
DROP TABLE tombstone;
ALTER TABLE entry_state DROP COLUMN version;

-- Hardly any row has a strength that does not fade yet, and an index of all
-- would be written for every access. A row that is not ahead has a
-- strength_base of written_at at most.
ALTER TABLE store ADD COLUMN written_at INTEGER NOT NULL DEFAULT 0; -- the latest time of any write
DROP INDEX entry_state_by_strength_base;
ALTER TABLE entry_state ADD COLUMN ahead INTEGER NOT NULL DEFAULT 0; -- whether strength_base was in the future when it was written
CREATE INDEX entry_state_ahead ON entry_state (strength_base) WHERE ahead;

CREATE INDEX archive_by_merged_into ON archive (merged_into) WHERE merged_into IS NOT NULL;

-- The terms (see memory.Terms) of the pieces, by which questions find them.
-- The names of speakers are made of pieces now too: the token a12 in the
-- posting index stands for piece 12 in the name of an entry's speaker, and the
-- tokens of terms are no more. Whoever opens the store fills the indexes anew.
DROP TABLE term;
CREATE TABLE piece_term (
    term     TEXT    NOT NULL,
    piece_id INTEGER NOT NULL REFERENCES piece (piece_id) ON DELETE CASCADE,
    PRIMARY KEY (term, piece_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX piece_term_by_piece ON piece_term (piece_id);

PRAGMA user_version = 2;

-- +goose Down
DROP TABLE piece_term;
CREATE TABLE term (
    term_id INTEGER PRIMARY KEY,
    term    TEXT NOT NULL UNIQUE
) STRICT;
DROP INDEX entry_state_ahead;
ALTER TABLE entry_state DROP COLUMN ahead;
CREATE INDEX entry_state_by_strength_base ON entry_state (strength_base);
ALTER TABLE store DROP COLUMN written_at;
ALTER TABLE entry_state ADD COLUMN version INTEGER NOT NULL DEFAULT 0;
CREATE TABLE tombstone (
    row_id  INTEGER PRIMARY KEY,
    version INTEGER NOT NULL
) STRICT;
ALTER TABLE store DROP COLUMN changes_since;
DROP TABLE change;
DROP INDEX archive_by_merged_into;
UPDATE store SET index_version = 0;
PRAGMA user_version = 1;
