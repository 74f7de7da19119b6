-- HotCRP's core: authors, reviewers, and who may see whom.
CREATE DATA_SUBJECT TABLE contact_info (contact_id serial PRIMARY KEY, first_name varchar(60) NOT NULL DEFAULT '', last_name varchar(60) NOT NULL DEFAULT '', email varchar(120) NOT NULL UNIQUE, affiliation text);
CREATE TABLE paper_storage (paper_storage_id serial PRIMARY KEY, mimetype varchar(80), paper bytea);
CREATE TABLE topic_area (topic_id serial PRIMARY KEY, topic_name varchar(1024));
CREATE TABLE paper (
  paper_id serial PRIMARY KEY, title varchar(512), abstract text, lead_contact_id int REFERENCES contact_info(contact_id),
  shepherd_contact_id int ACCESSED_BY contact_info(contact_id), manager_contact_id int ACCESSED_BY contact_info(contact_id),
  paper_storage_id int REFERENCES paper_storage(paper_storage_id));
CREATE TABLE paper_authors (id serial PRIMARY KEY, paper_id int NOT NULL OWNS paper(paper_id), contact_id int NOT NULL OWNED_BY contact_info(contact_id));
CREATE TABLE paper_conflict (id serial PRIMARY KEY, paper_id int NOT NULL ACCESSED_BY paper(paper_id), contact_id int NOT NULL OWNED_BY contact_info(contact_id), conflict_type smallint,
  ON DEL paper_id DELETE_ROW);
CREATE TABLE action_log (log_id serial PRIMARY KEY, contact_id int NOT NULL OWNED_BY contact_info(contact_id), dest_contact_id int ACCESSED_BY contact_info(contact_id),
  true_contact_id int ACCESSED_BY contact_info(contact_id), paper_id int REFERENCES paper(paper_id), ipaddr varchar(39), action varchar(4096));
CREATE TABLE deleted_contact_info (contact_id int PRIMARY KEY OWNED_BY contact_info(contact_id), first_name varchar(60), email varchar(120));
CREATE TABLE document_link (id serial PRIMARY KEY, paper_id int NOT NULL OWNED_BY paper(paper_id), document_id int);
CREATE TABLE filtered_document (in_doc_id int NOT NULL OWNED_BY document_link(id), out_doc_id int REFERENCES document_link(id));
CREATE TABLE paper_review (
  review_id serial PRIMARY KEY, paper_id int NOT NULL ACCESSED_BY paper(paper_id), contact_id int NOT NULL OWNED_BY contact_info(contact_id),
  requested_by int ACCESSED_BY contact_info(contact_id), review_token int, review_modified bigint, overall_merit smallint, comments text,
  ON GET paper_id ANON (contact_id, requested_by, review_token, review_modified));
CREATE TABLE paper_review_refused (
  id serial PRIMARY KEY, paper_id int REFERENCES paper(paper_id), email varchar(120), first_name varchar(120), last_name varchar(120), affiliation varchar(120),
  contact_id int NOT NULL OWNED_BY contact_info(contact_id), requested_by int ACCESSED_BY contact_info(contact_id), refused_by int ACCESSED_BY contact_info(contact_id),
  ON GET requested_by ANON (email, first_name, last_name, affiliation, contact_id), ON GET refused_by ANON (email, first_name, last_name, affiliation, contact_id),
  ON DEL requested_by ANON (requested_by), ON DEL refused_by ANON (refused_by), ON DEL contact_id ANON (contact_id));
CREATE TABLE paper_topic (paper_id int NOT NULL OWNED_BY paper(paper_id), topic_id int NOT NULL REFERENCES topic_area(topic_id), PRIMARY KEY (paper_id, topic_id));
CREATE DATA_SUBJECT TABLE review_request (
  id serial PRIMARY KEY, paper_id int NOT NULL OWNED_BY paper(paper_id), email varchar(120), first_name varchar(120), last_name varchar(120), affiliation varchar(120),
  requested_by int ACCESSED_BY contact_info(contact_id), time_requested bigint,
  ON GET paper_id ANON (email, first_name, last_name, affiliation, requested_by, time_requested));
CREATE TABLE topic_interest (contact_id int PRIMARY KEY OWNED_BY contact_info(contact_id), topic_id int REFERENCES topic_area(topic_id), interest int);
