-- ownCloud's file-sharing core: groups and files belong to whoever they are shared with.
CREATE DATA_SUBJECT TABLE oc_users (uid varchar(64) PRIMARY KEY, password varchar(255) NOT NULL DEFAULT '');
CREATE TABLE oc_storages (numeric_id serial PRIMARY KEY, id varchar(64) UNIQUE, available int NOT NULL DEFAULT 1);
CREATE TABLE oc_groups (gid varchar(64) PRIMARY KEY);
CREATE TABLE oc_files (id bigint PRIMARY KEY, file_name varchar(250));
CREATE TABLE oc_group_user (gid varchar(64) NOT NULL OWNS oc_groups(gid), uid varchar(64) NOT NULL OWNED_BY oc_users(uid), PRIMARY KEY (gid, uid));
CREATE TABLE oc_share (
  id bigserial PRIMARY KEY, share_type smallint NOT NULL, share_with varchar(64) ACCESSED_BY oc_users(uid), share_with_group varchar(64) ACCESSED_BY oc_groups(gid),
  uid_owner varchar(64) NOT NULL OWNED_BY oc_users(uid), uid_initiator varchar(64) REFERENCES ONLY oc_users(uid), item_source bigint NOT NULL OWNS oc_files(id));
CREATE TABLE oc_filecache (fileid bigint PRIMARY KEY OWNED_BY oc_files(id), storage int NOT NULL REFERENCES oc_storages(numeric_id), path varchar(4000));
