-- Which question waits: a note may have several, and another text of the note is another question.
ALTER TABLE llm_pending ADD COLUMN key VARCHAR;
