Statements of garbage collection.

-- name: mark_used
UPDATE {table} SET unused_since = NULL
WHERE unused_since IS NOT NULL AND text_hash IN (
    SELECT text_hash FROM passages UNION ALL SELECT text_hash FROM entity_aliases WHERE text_hash IS NOT NULL)

-- name: mark_unused
UPDATE {table} SET unused_since = ?
WHERE unused_since IS NULL AND text_hash NOT IN (
    SELECT text_hash FROM passages UNION ALL SELECT text_hash FROM entity_aliases WHERE text_hash IS NOT NULL)

-- name: delete_unused_terms
DELETE FROM terms WHERE id NOT IN (SELECT term FROM postings)

-- name: delete_oldest_unused
DELETE FROM {table} WHERE rowid IN (
    SELECT rowid FROM {table} WHERE unused_since IS NOT NULL ORDER BY unused_since, text_hash LIMIT ?
)
RETURNING text_hash

-- name: unsaid_entities
DELETE FROM entities WHERE id NOT IN (SELECT entity_id FROM entity_mentions)

-- name: unsaid_aliases
DELETE FROM entity_aliases
WHERE entity_id NOT IN (SELECT id FROM entities)
   OR (entity_id, key) NOT IN (SELECT entity_id, key FROM entity_spellings)

-- name: unsaid_relations
DELETE FROM relationships WHERE id NOT IN (SELECT relationship_id FROM relationship_mentions)
   OR source_id NOT IN (SELECT id FROM entities) OR target_id NOT IN (SELECT id FROM entities)

-- name: unsaid_communities
DELETE FROM communities WHERE id IN (
    SELECT community_id FROM community_sources
    WHERE chunk_key NOT IN (SELECT key FROM chunks UNION ALL SELECT key FROM notes)
)
