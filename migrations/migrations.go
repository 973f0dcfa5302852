// Package migrations holds the SQL files that bring a loopmem database from
// one schema version to the next, in the form of goose. Package sqlitestore
// applies them when it opens a file.
//
// Released files are never edited; a change of the schema is a new file. Each
// sets user_version to its own number, so that a reader can tell the version
// of a file without knowing goose.
package migrations

import "embed"

// FS holds the files NNNNN_what_it_does.sql.
//
//go:embed *.sql
var FS embed.FS

// Latest is the schema version that the newest file leads to.
const Latest = 2
