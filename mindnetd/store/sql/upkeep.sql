Statements of garbage collection.

A vector is of use while a passage or a name has its text, and the model of now made it. `current` is that model's
fingerprint; a file that no model was ever chosen for has vectors of one kind.

-- name: mark_used
UPDATE {table} SET unused_since = NULL
WHERE unused_since IS NOT NULL AND fingerprint = {current} AND text_hash IN (
    SELECT text_hash FROM passages UNION ALL SELECT text_hash FROM entity_aliases WHERE text_hash IS NOT NULL)

-- name: mark_unused
UPDATE {table} SET unused_since = ?
WHERE unused_since IS NULL AND (fingerprint <> {current} OR text_hash NOT IN (
    SELECT text_hash FROM passages UNION ALL SELECT text_hash FROM entity_aliases WHERE text_hash IS NOT NULL))

-- name: count_unused
SELECT count(*), count(unused_since) FROM {table} WHERE fingerprint = {current}

-- name: delete_unused_terms
DELETE FROM terms WHERE id NOT IN (SELECT term FROM postings)

-- name: delete_oldest_unused
DELETE FROM {table} WHERE rowid IN (
    SELECT rowid FROM {table} WHERE unused_since IS NOT NULL AND fingerprint = {current}
    ORDER BY unused_since, text_hash LIMIT ?
)
RETURNING text_hash

-- name: unsaid_entities
DELETE FROM entities WHERE (audience, id) NOT IN (SELECT audience, entity_id FROM entity_mentions)

-- name: unsaid_aliases
DELETE FROM entity_aliases
WHERE (audience, entity_id) NOT IN (SELECT audience, id FROM entities)
   OR (audience, entity_id, key) NOT IN (SELECT audience, entity_id, key FROM entity_spellings)

-- name: unsaid_names
UPDATE entities SET name = said.name FROM (
    SELECT audience, entity_id, arg_max(name, (total, name)) AS name
    FROM (SELECT audience, entity_id, name, sum(count) AS total FROM entity_spellings GROUP BY audience, entity_id, name)
    GROUP BY audience, entity_id
) said
WHERE said.entity_id = entities.id AND said.audience = entities.audience
  AND NOT EXISTS (
      SELECT 1 FROM entity_spellings s
      WHERE s.audience = entities.audience AND s.entity_id = entities.id AND s.name = entities.name
  )

-- name: unsaid_replies
DELETE FROM llm_cache
WHERE key NOT IN (SELECT key FROM llm_sources)
   OR key IN (SELECT key FROM llm_sources WHERE note_key NOT IN (SELECT key FROM notes))

-- name: unsaid_traces
UPDATE query_log SET decision_trace = NULL
WHERE EXISTS (
    SELECT 1 FROM (SELECT unnest(json_extract_string(decision_trace, '$[*].path')) AS path) hit
    WHERE hit.path NOT IN (SELECT path FROM notes)
)

-- name: unsaid_errors
UPDATE import_runs SET errors = '[]' WHERE errors <> '[]'

-- name: unsaid_relations
DELETE FROM relationships WHERE (audience, id) NOT IN (SELECT audience, relationship_id FROM relationship_mentions)
   OR (audience, source_id) NOT IN (SELECT audience, id FROM entities)
   OR (audience, target_id) NOT IN (SELECT audience, id FROM entities)

-- name: unsaid_descriptions
UPDATE entities SET description = NULL WHERE description IS NOT NULL

-- name: unsaid_evidence
UPDATE relationships SET description = NULL WHERE description IS NOT NULL

-- name: unsaid_communities
DELETE FROM communities

-- name: unsaid_members
DELETE FROM community_members

-- name: unsaid_sentences
DELETE FROM community_sources
