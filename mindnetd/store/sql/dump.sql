What the logical dump says of each table, without keys, runs and times of ours.

-- name: notes
SELECT id::VARCHAR, note_id, path, title, h1, aliases, tags, type, status, visibility, flags, lang, created, modified,
       body_hash, frontmatter_hash, full_hash, raw_hash, hash_mode, stale, frontmatter, size, raw
FROM notes

-- name: chunks
SELECT id::VARCHAR, note::VARCHAR, chunk_idx, chunk_profile, section, text, overlap_left, overlap_right, tokens,
       start_offset, end_offset, start_line, end_line, content_hash, retriever_weight, time_weight_override
FROM chunks

-- name: passages
SELECT chunk_id::VARCHAR, idx, start_offset, end_offset, tokens, text_hash FROM passages

-- name: postings
SELECT coalesce(c.id, n.id)::VARCHAR, t.term, p.field, p.tf
FROM postings p
JOIN terms t ON t.id = p.term
LEFT JOIN chunks c ON c.key = p.doc
LEFT JOIN notes n ON n.key = p.doc

-- name: lengths
SELECT coalesce(c.id, n.id)::VARCHAR, l.title, l.aliases, l.headings, l.tags, l.body
FROM lengths l
LEFT JOIN chunks c ON c.key = l.doc
LEFT JOIN notes n ON n.key = l.doc

-- name: links
SELECT coalesce(n.path, c.path), l.ord, l.kind, l.raw, l.target, l.heading, l.block, l.display, l.line, l.property,
       l.in_comment, l.relation, l.resolved, l.ambiguous, l.by_id
FROM links l
LEFT JOIN notes n ON n.key = l.owner
LEFT JOIN canvases c ON c.key = l.owner

-- name: link_names
SELECT DISTINCT coalesce(n.path, c.path), l.name
FROM link_names l
LEFT JOIN notes n ON n.key = l.owner
LEFT JOIN canvases c ON c.key = l.owner

-- name: edges
SELECT id::VARCHAR, src_id::VARCHAR, dst_id::VARCHAR, src_kind, dst_kind, dst_label, relation, scope, note_id::VARCHAR,
       weight, source, occurrences, evidence, line, resolved_by, visibility
FROM edges

-- name: files
SELECT path, kind, size FROM files

-- name: canvases
SELECT id::VARCHAR, path, raw_hash FROM canvases

-- name: diagnostics
SELECT path, code, message, line FROM diagnostics

-- name: note_signals
SELECT n.path, coalesce(c.chunk_idx, -1), s.kind, s.name, s.key, s.weight, s.count
FROM note_signals s
LEFT JOIN notes n ON n.key = s.owner
LEFT JOIN chunks c ON c.key = s.chunk_key

-- name: entities
SELECT audience, id::VARCHAR, name, key, type, name_type, mention_count, weight, note::VARCHAR, source, description FROM entities

-- name: entity_aliases
SELECT audience, entity_id::VARCHAR, alias, key, text_hash FROM entity_aliases

-- name: entity_mentions
SELECT m.audience, m.entity_id::VARCHAR, m.chunk_id::VARCHAR, n.path, c.chunk_idx, m.count
FROM entity_mentions m
LEFT JOIN notes n ON n.key = m.note_key
LEFT JOIN chunks c ON c.key = m.chunk_key

-- name: entity_spellings
SELECT s.audience, s.entity_id::VARCHAR, n.path, s.name, s.key, s.count
FROM entity_spellings s LEFT JOIN notes n ON n.key = s.note_key

-- name: relationships
SELECT audience, id::VARCHAR, source_id::VARCHAR, target_id::VARCHAR, type, weight, count, source, description
FROM relationships

-- name: relationship_mentions
SELECT m.audience, m.relationship_id::VARCHAR, m.chunk_id::VARCHAR, n.path, c.chunk_idx
FROM relationship_mentions m
LEFT JOIN notes n ON n.key = m.note_key
LEFT JOIN chunks c ON c.key = m.chunk_key
