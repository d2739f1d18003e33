Statements of garbage collection.

-- name: mark_used
UPDATE {table} SET unused_since = NULL
WHERE unused_since IS NOT NULL AND text_hash IN (SELECT text_hash FROM passages)

-- name: mark_unused
UPDATE {table} SET unused_since = ?
WHERE unused_since IS NULL AND text_hash NOT IN (SELECT text_hash FROM passages)

-- name: delete_unused_terms
DELETE FROM terms WHERE id NOT IN (SELECT term FROM postings)

-- name: delete_oldest_unused
DELETE FROM {table} WHERE rowid IN (
    SELECT rowid FROM {table} WHERE unused_since IS NOT NULL ORDER BY unused_since, text_hash LIMIT ?
)
RETURNING text_hash
