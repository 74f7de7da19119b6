-- ownCloud, the core of its file sharing: 7 tables. A file belongs to those who share it out (its first share is its owner's own, with nobody);
-- a group belongs to its members; whom it is shared with may access it.

CREATE DATA_SUBJECT TABLE oc_users (
  uid VARCHAR(64) PRIMARY KEY,
  displayname VARCHAR(64),
  password VARCHAR(255) NOT NULL DEFAULT ''
);

CREATE TABLE oc_storages (
  numeric_id INT PRIMARY KEY,
  id VARCHAR(64) UNIQUE,
  available INT NOT NULL DEFAULT 1,
  last_checked INT
);

CREATE TABLE oc_groups (
  gid VARCHAR(64) PRIMARY KEY
);

CREATE TABLE oc_files (
  id INT PRIMARY KEY,
  file_name VARCHAR(255) NOT NULL,
  created_at TIMESTAMP
);

CREATE TABLE oc_group_user (
  gid VARCHAR(64) OWNS oc_groups(gid),
  uid VARCHAR(64) OWNED_BY oc_users(uid),
  PRIMARY KEY (gid, uid)
);
CREATE INDEX oc_group_user_uid ON oc_group_user(uid);

-- The application keeps users and groups in one column share_with; here each has its own.
CREATE TABLE oc_share (
  id INT PRIMARY KEY,
  share_type SMALLINT NOT NULL DEFAULT 0,
  share_with VARCHAR(64) ACCESSED_BY oc_users(uid),
  share_with_group VARCHAR(64) ACCESSED_BY oc_groups(gid),
  uid_owner VARCHAR(64) NOT NULL OWNED_BY oc_users(uid),
  uid_initiator VARCHAR(64) REFERENCES ONLY oc_users(uid) ON DELETE SET NULL,
  item_type VARCHAR(64) NOT NULL DEFAULT 'file',
  item_source INT NOT NULL OWNS oc_files(id),
  file_target VARCHAR(512),
  permissions SMALLINT NOT NULL DEFAULT 0,
  stime BIGINT NOT NULL DEFAULT 0,
  expiration TIMESTAMP,
  token VARCHAR(32)
);
CREATE INDEX oc_share_with ON oc_share(share_with);
CREATE INDEX oc_share_with_group ON oc_share(share_with_group);
CREATE INDEX oc_share_item ON oc_share(item_source);

CREATE TABLE oc_filecache (
  fileid INT PRIMARY KEY OWNED_BY oc_files(id),
  storage INT NOT NULL REFERENCES oc_storages(numeric_id),
  path VARCHAR(4000),
  path_hash VARCHAR(32) NOT NULL DEFAULT '',
  parent INT NOT NULL DEFAULT 0,
  name VARCHAR(250),
  size BIGINT NOT NULL DEFAULT 0,
  mtime BIGINT NOT NULL DEFAULT 0,
  etag VARCHAR(40),
  permissions INT DEFAULT 0
);
