INSERT INTO config VALUES ('v1.8.0');
INSERT INTO owners (ownerHex, email, name) VALUES ('olga', 'olga@blog.example', 'Olga'), ('otto', 'otto@shop.example', 'Otto');
INSERT INTO ownerSessions VALUES ('session-olga', 'olga', NULL);
INSERT INTO ownerConfirmHexes VALUES ('confirm-otto', 'otto', NULL);
INSERT INTO ownerResetHexes VALUES ('reset-olga', 'olga', NULL);
INSERT INTO domains (domain, ownerHex, name) VALUES ('blog.example', 'olga', 'Blog'), ('shop.example', 'otto', 'Shop');
INSERT INTO moderators (moderatorHex, domain, email) VALUES ('mia', 'blog.example', 'mia@blog.example');
INSERT INTO commenters (commenterHex, email, name) VALUES
  ('ada', 'ada@example.org', 'Ada'), ('ben', 'ben@example.org', 'Ben'), ('cyd', 'cyd@example.org', 'Cyd');
INSERT INTO commenterSessions VALUES ('session-ada', 'ada', NULL), ('session-ben', 'ben', NULL);
-- On the blog: Ada asks, Ben answers, Ada answers him, Cyd answers her and Ben answers Cyd; Cyd says something of his own. In the shop: Ben.
INSERT INTO comments (commentHex, domain, path, commenterHex, markdown, parentHex, score) VALUES
  ('c1', 'blog.example', '/a', 'ada', 'How?', NULL, 3), ('c2', 'blog.example', '/a', 'ben', 'Slowly.', 'c1', 1),
  ('c3', 'blog.example', '/a', 'ada', 'Why?', 'c2', 0), ('c4', 'blog.example', '/a', 'cyd', 'So.', 'c3', 0),
  ('c5', 'blog.example', '/a', 'ben', 'Quite.', 'c4', 0), ('c6', 'blog.example', '/b', 'cyd', 'First!', NULL, -2),
  ('c7', 'shop.example', '/', 'ben', 'Do you ship?', NULL, 0);
INSERT INTO votes (voteId, commentHex, commenterHex, direction) VALUES (1, 'c1', 'ben', 1), (2, 'c2', 'ada', 1), (3, 'c6', 'ada', -1), (4, 'c4', 'cyd', 1);
INSERT INTO views (viewId, domain, commenterHex) VALUES (1, 'blog.example', 'ada'), (2, 'blog.example', 'ben'), (3, 'shop.example', 'ben');
