-- Ada and Cyd play chess, Ben drinks tea alone, Dov is in no group.
INSERT INTO oc_users (uid, displayname) VALUES ('ada', 'Ada'), ('ben', 'Ben'), ('cyd', 'Cyd'), ('dov', 'Dov');
INSERT INTO oc_storages (numeric_id, id) VALUES (1, 'local::one'), (2, 'local::two');
INSERT INTO oc_groups VALUES ('chess'), ('tea');
INSERT INTO oc_group_user (gid, uid) VALUES ('chess', 'ada'), ('chess', 'cyd'), ('tea', 'ben');
INSERT INTO oc_files (id, file_name) VALUES (1, 'letter'), (2, 'openings'), (3, 'diary'), (4, 'endgames'), (5, 'plan');
INSERT INTO oc_filecache (fileid, storage, path, name) VALUES
  (1, 1, 'files/letter', 'letter'), (2, 1, 'files/openings', 'openings'), (3, 2, 'files/diary', 'diary'),
  (4, 2, 'files/endgames', 'endgames'), (5, 1, 'files/plan', 'plan');
-- The letter goes to Ben, openings and endgames to the chess players, the diary to nobody; the plan is Ada's and Ben's, and Dov may read it.
INSERT INTO oc_share (id, share_with, share_with_group, uid_owner, uid_initiator, item_source) VALUES
  (1, 'ben', NULL, 'ada', 'ada', 1), (2, NULL, 'chess', 'ada', 'ada', 2), (3, NULL, NULL, 'ben', 'ben', 3),
  (4, NULL, 'chess', 'ben', 'cyd', 4), (5, 'dov', NULL, 'ada', 'ada', 5), (6, NULL, NULL, 'ben', 'ada', 5);
