What communities are rebuilt from, and the last ones.

-- name: notes
SELECT key, visibility::VARCHAR, flags, lang
FROM notes ORDER BY key

-- name: chunks
SELECT key, ('0x' || substr(content_hash, 1, 16))::UBIGINT AS mark, note_key, chunk_idx = 0 AS first
FROM chunks ORDER BY key

-- name: rows
SELECT id::VARCHAR, label, level, parent::VARCHAR, title, summary, summary_source, members_hash, texts_hash,
       audience, updated
FROM communities ORDER BY audience, level, label, id

-- name: members
SELECT audience, community_id::VARCHAR, entity_id::VARCHAR FROM community_members
ORDER BY audience, community_id, entity_id::VARCHAR

-- name: sources
SELECT audience, community_id::VARCHAR, chunk_id::VARCHAR, chunk_key, sentence FROM community_sources
ORDER BY audience, community_id, ord
