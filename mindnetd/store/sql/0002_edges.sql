-- Links and edges that a frontmatter id answers, where no file has the name; backlinks are references reversed.
-- The rows of older files are made anew at the next start: the version of the edges is part of what made them.

DROP VIEW structural_edges;

ALTER TABLE links ADD COLUMN by_id VARCHAR;

ALTER TABLE edges ADD COLUMN resolved_by VARCHAR;

-- Edges that follow from the rows themselves. prev, next and belongs_to are of scope chunk, backlink of scope note.
CREATE VIEW structural_edges AS
    SELECT id AS src_id, note AS dst_id, 'chunk' AS src_kind, 'note' AS dst_kind, 'belongs_to' AS relation,
           'chunk' AS scope, 'structural' AS source
    FROM chunks
    UNION ALL
    SELECT a.id, b.id, 'chunk', 'chunk', 'next', 'chunk', 'structural' FROM chunks a
    JOIN chunks b ON b.note_key = a.note_key AND b.chunk_idx = a.chunk_idx + 1
    UNION ALL
    SELECT b.id, a.id, 'chunk', 'chunk', 'prev', 'chunk', 'structural' FROM chunks a
    JOIN chunks b ON b.note_key = a.note_key AND b.chunk_idx = a.chunk_idx + 1
    UNION ALL
    SELECT DISTINCT dst_id, src_id, 'note', src_kind, 'backlink', 'note', 'structural' FROM edges
    WHERE dst_kind = 'note' AND relation = 'references';

-- Pairs of notes that share a rare tag, over all notes; mindnetd itself counts only what the asker may see
-- (core.shared_tags says what rare means, and why these are not stored).
CREATE VIEW shared_tag_edges AS
    WITH tagged AS (
        SELECT DISTINCT id, path, lower(unnest(from_json(tags, '["VARCHAR"]'))) AS tag FROM notes
    ), rare AS (
        SELECT tag, count(*) AS notes FROM tagged GROUP BY tag HAVING count(*) BETWEEN 2 AND 8
    )
    SELECT a.id AS src_id, b.id AS dst_id, 'related_to' AS relation, 'note' AS scope, 'rule' AS source,
           least(1.0, sum(1.0 / r.notes)) AS weight, string_agg('#' || r.tag, ' ' ORDER BY r.tag) AS evidence
    FROM rare r
    JOIN tagged a ON a.tag = r.tag
    JOIN tagged b ON b.tag = r.tag AND a.path < b.path
    GROUP BY a.id, b.id;
