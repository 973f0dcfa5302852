-- What processes that remember rows need to catch up, the terms of questions in
-- the vocabulary instead of in every entry's postings, and a way from an entry
-- to those that were merged into it.

-- +goose Up
ALTER TABLE store ADD COLUMN changes_since INTEGER NOT NULL DEFAULT 0; -- from which version on rows and tombstones tell what has changed

-- entry_state.version is that of the store when anything of the entry last
-- changed, its content included, but for the decay of a whole pass.
UPDATE entry_state
SET version = (SELECT max(entry_state.version, entry.version) FROM entry WHERE entry.row_id = entry_state.row_id);
CREATE INDEX entry_state_by_version ON entry_state (version); -- what has changed since

DROP TABLE tombstone;
CREATE TABLE tombstone (
    version INTEGER NOT NULL, -- store.version when the row went
    row_id  INTEGER NOT NULL,
    PRIMARY KEY (version, row_id)
) STRICT, WITHOUT ROWID;
UPDATE store SET changes_since = version;

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
DROP TABLE tombstone;
CREATE TABLE tombstone (
    row_id  INTEGER PRIMARY KEY,
    version INTEGER NOT NULL
) STRICT;
DROP INDEX entry_state_by_version;
DROP INDEX archive_by_merged_into;
ALTER TABLE store DROP COLUMN changes_since;
UPDATE store SET index_version = 0;
PRAGMA user_version = 1;
