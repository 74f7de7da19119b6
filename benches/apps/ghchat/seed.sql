INSERT INTO user_info (id, github_id, name, location) VALUES (1, 101, 'ada', 'London'), (2, 102, 'ben', 'Bern'), (3, 103, 'cyd', 'Cadiz');
INSERT INTO group_info (id, to_group_id, name, creator_id) VALUES (1, 'engines', 'Engines', 1), (2, 'clocks', 'Clocks', 2);
-- Cyd has left the engines: what he said there stands, and he reads no more.
INSERT INTO group_user_relation (id, to_group_id, user_id) VALUES (1, 'engines', 1), (2, 'engines', 2), (3, 'clocks', 2), (4, 'clocks', 3);
INSERT INTO group_msg (id, from_user, to_group_id, message) VALUES (1, 1, 'engines', 'Hello'), (2, 2, 'engines', 'Hello Ada'), (3, 3, 'engines', 'Bye'), (4, 3, 'clocks', 'Tick');
INSERT INTO private_msg (id, from_user, to_user, message) VALUES (1, 1, 2, 'Tea?'), (2, 3, 1, 'I left'), (3, 2, 2, 'Note to self');
INSERT INTO user_user_relation (id, user_id, from_user, remark) VALUES (1, 1, 2, 'Benny'), (2, 2, 1, 'A.'), (3, 3, 1, 'boss');
