INSERT INTO Author (Id, Name) VALUES ('ada', 'Ada'), ('ben', 'Ben');
INSERT INTO Thread (Id, Path) VALUES ('t1', '/engines'), ('t2', '/clocks');
INSERT INTO Comment (Id, ThreadId, Body, Author, ReplyTo) VALUES
  ('c1', 't1', 'How?', 'ada', NULL), ('c2', 't1', 'Slowly.', 'ben', 'c1'), ('c3', 't1', 'Why?', 'ada', 'c2'), ('c4', 't2', 'Tick.', 'ben', NULL);
