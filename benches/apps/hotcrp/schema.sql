-- HotCRP, review of papers: 26 tables, two of them people (contacts, and those proposed as reviewers who have no account yet).
-- A paper belongs to its authors together; a review to its reviewer, and the authors may access it without learning who wrote it.

CREATE TABLE Settings (
  name VARCHAR(256) PRIMARY KEY,
  value BIGINT NOT NULL DEFAULT 0,
  data TEXT
);

CREATE TABLE TopicArea (
  topicId SERIAL PRIMARY KEY,
  topicName VARCHAR(1024)
);

CREATE TABLE MailLog (
  mailId SERIAL PRIMARY KEY,
  recipients VARCHAR(200) NOT NULL,
  q VARCHAR(4096),
  t VARCHAR(200),
  paperIds TEXT,
  subject TEXT,
  emailBody TEXT,
  fromNonChair BOOLEAN NOT NULL DEFAULT false,
  status SMALLINT NOT NULL DEFAULT 0
);

CREATE TABLE PaperTagAnno (
  tag VARCHAR(80) NOT NULL,
  annoId INT NOT NULL,
  tagIndex DOUBLE PRECISION NOT NULL DEFAULT 0,
  heading VARCHAR(8192),
  PRIMARY KEY (tag, annoId)
);

CREATE TABLE PaperStorage (
  paperStorageId SERIAL PRIMARY KEY,
  documentType INT NOT NULL DEFAULT 0,
  mimetype VARCHAR(80) NOT NULL DEFAULT 'application/pdf',
  filename VARCHAR(255),
  paper BYTEA,
  sha1 VARCHAR(64) NOT NULL DEFAULT '',
  size BIGINT,
  timestamp BIGINT NOT NULL DEFAULT 0,
  infoJson VARCHAR(32768)
);

CREATE DATA_SUBJECT TABLE ContactInfo (
  contactId SERIAL PRIMARY KEY,
  firstName VARCHAR(120) NOT NULL DEFAULT '',
  lastName VARCHAR(120) NOT NULL DEFAULT '',
  unaccentedName VARCHAR(240) NOT NULL DEFAULT '',
  email VARCHAR(120) NOT NULL UNIQUE,
  preferredEmail VARCHAR(120),
  affiliation VARCHAR(2048) NOT NULL DEFAULT '',
  phone VARCHAR(64),
  country VARCHAR(256),
  password VARCHAR(2048) NOT NULL DEFAULT '',
  passwordTime BIGINT NOT NULL DEFAULT 0,
  collaborators TEXT,
  roles INT NOT NULL DEFAULT 0,
  disabled BOOLEAN NOT NULL DEFAULT false,
  contactTags TEXT,
  birthday INT,
  gender VARCHAR(24),
  lastLogin BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE DeletedContactInfo (
  contactId INT PRIMARY KEY OWNED_BY ContactInfo(contactId),
  firstName VARCHAR(120) NOT NULL,
  lastName VARCHAR(120) NOT NULL,
  unaccentedName VARCHAR(240) NOT NULL,
  email VARCHAR(120) NOT NULL
);

CREATE TABLE Paper (
  paperId SERIAL PRIMARY KEY,
  title VARCHAR(512) NOT NULL DEFAULT '',
  authorInformation TEXT,
  abstract TEXT,
  collaborators TEXT,
  timeSubmitted BIGINT NOT NULL DEFAULT 0,
  timeWithdrawn BIGINT NOT NULL DEFAULT 0,
  paperStorageId INT REFERENCES PaperStorage(paperStorageId),
  finalPaperStorageId INT REFERENCES PaperStorage(paperStorageId),
  blind BOOLEAN NOT NULL DEFAULT true,
  outcome SMALLINT NOT NULL DEFAULT 0,
  leadContactId INT REFERENCES ONLY ContactInfo(contactId) ON DELETE SET NULL,
  shepherdContactId INT ACCESSED_BY ContactInfo(contactId),
  managerContactId INT ACCESSED_BY ContactInfo(contactId),
  capVersion INT NOT NULL DEFAULT 0,
  withdrawReason VARCHAR(1024)
);

-- Not in the application, which keeps authors in a text of the paper: authorship alone owns, other conflicts do not.
CREATE TABLE PaperAuthors (
  paperAuthorId SERIAL PRIMARY KEY,
  paperId INT NOT NULL OWNS Paper(paperId),
  contactId INT NOT NULL OWNED_BY ContactInfo(contactId),
  UNIQUE (paperId, contactId)
);

-- The text of the paper names its authors: when one of them goes, it goes too (PaperAuthors still says who the others are).
ALTER TABLE Paper ADD ON DEL PaperAuthors(paperId) ANON (authorInformation, collaborators);

CREATE TABLE PaperConflict (
  paperId INT ACCESSED_BY Paper(paperId),
  contactId INT OWNED_BY ContactInfo(contactId),
  conflictType SMALLINT NOT NULL DEFAULT 0,
  PRIMARY KEY (contactId, paperId),
  ON DEL paperId DELETE_ROW
);
CREATE INDEX PaperConflict_paper ON PaperConflict(paperId);

CREATE TABLE ActionLog (
  logId SERIAL PRIMARY KEY,
  contactId INT NOT NULL OWNED_BY ContactInfo(contactId),
  destContactId INT ACCESSED_BY ContactInfo(contactId),
  trueContactId INT ACCESSED_BY ContactInfo(contactId),
  paperId INT REFERENCES ONLY Paper(paperId) ON DELETE SET NULL,
  timestamp BIGINT NOT NULL DEFAULT 0,
  ipaddr VARCHAR(39),
  action TEXT NOT NULL
);

CREATE TABLE Capability (
  salt VARCHAR(255) PRIMARY KEY,
  capabilityType SMALLINT NOT NULL,
  contactId INT NOT NULL OWNED_BY ContactInfo(contactId),
  paperId INT REFERENCES ONLY Paper(paperId) ON DELETE CASCADE,
  timeExpires BIGINT NOT NULL DEFAULT 0,
  data TEXT
);

CREATE TABLE PaperWatch (
  paperId INT REFERENCES ONLY Paper(paperId) ON DELETE CASCADE,
  contactId INT OWNED_BY ContactInfo(contactId),
  watch INT NOT NULL DEFAULT 0,
  PRIMARY KEY (paperId, contactId)
);

CREATE TABLE PaperReviewPreference (
  paperId INT REFERENCES ONLY Paper(paperId) ON DELETE CASCADE,
  contactId INT OWNED_BY ContactInfo(contactId),
  preference INT NOT NULL DEFAULT 0,
  expertise INT,
  PRIMARY KEY (paperId, contactId)
);

-- What somebody wrote about a paper stays theirs when the paper goes.
CREATE TABLE PaperComment (
  commentId SERIAL PRIMARY KEY,
  paperId INT REFERENCES ONLY Paper(paperId) ON DELETE SET NULL,
  contactId INT NOT NULL OWNED_BY ContactInfo(contactId),
  timeModified BIGINT NOT NULL DEFAULT 0,
  comment TEXT,
  commentType INT NOT NULL DEFAULT 0,
  replyTo INT,
  ordinal INT NOT NULL DEFAULT 0,
  commentTags VARCHAR(1024)
);
CREATE INDEX PaperComment_paper ON PaperComment(paperId);

CREATE TABLE DocumentLink (
  documentLinkId SERIAL PRIMARY KEY,
  paperId INT NOT NULL OWNED_BY Paper(paperId),
  linkId INT NOT NULL,
  linkType INT NOT NULL DEFAULT 0,
  documentId INT NOT NULL UNIQUE
);

CREATE TABLE FilteredDocument (
  inDocId INT OWNED_BY DocumentLink(documentId),
  filterType INT NOT NULL,
  outDocId INT NOT NULL REFERENCES PaperStorage(paperStorageId),
  createdAt BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (inDocId, filterType)
);

CREATE TABLE PaperOption (
  paperOptionId SERIAL PRIMARY KEY,
  paperId INT NOT NULL OWNED_BY Paper(paperId),
  optionId INT NOT NULL,
  value BIGINT NOT NULL DEFAULT 0,
  data TEXT
);

CREATE TABLE PaperTag (
  paperId INT OWNED_BY Paper(paperId),
  tag VARCHAR(80) NOT NULL,
  tagIndex DOUBLE PRECISION NOT NULL DEFAULT 0,
  PRIMARY KEY (paperId, tag)
);

CREATE TABLE PaperTopic (
  paperId INT OWNED_BY Paper(paperId),
  topicId INT REFERENCES TopicArea(topicId),
  PRIMARY KEY (paperId, topicId)
);

CREATE TABLE TopicInterest (
  contactId INT PRIMARY KEY OWNED_BY ContactInfo(contactId),
  topicId INT NOT NULL REFERENCES TopicArea(topicId),
  interest INT NOT NULL DEFAULT 0
);

CREATE TABLE Formula (
  formulaId SERIAL PRIMARY KEY,
  name VARCHAR(200) NOT NULL,
  expression TEXT NOT NULL,
  createdBy INT NOT NULL OWNED_BY ContactInfo(contactId),
  timeModified BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE PaperReview (
  reviewId SERIAL PRIMARY KEY,
  paperId INT ACCESSED_BY Paper(paperId),
  contactId INT NOT NULL OWNED_BY ContactInfo(contactId),
  requestedBy INT ACCESSED_BY ContactInfo(contactId),
  reviewToken INT NOT NULL DEFAULT 0,
  reviewType SMALLINT NOT NULL DEFAULT 0,
  reviewRound INT NOT NULL DEFAULT 1,
  reviewBlind BOOLEAN NOT NULL DEFAULT true,
  reviewOrdinal INT NOT NULL DEFAULT 0,
  timeRequested BIGINT NOT NULL DEFAULT 0,
  timeRequestNotified BIGINT NOT NULL DEFAULT 0,
  reviewModified BIGINT NOT NULL DEFAULT 0,
  reviewSubmitted BIGINT,
  reviewNotified BIGINT,
  reviewAuthorNotified BIGINT NOT NULL DEFAULT 0,
  reviewAuthorModified BIGINT,
  reviewAuthorSeen BIGINT,
  overAllMerit SMALLINT NOT NULL DEFAULT 0,
  reviewerQualification SMALLINT NOT NULL DEFAULT 0,
  textFields TEXT,
  ON GET paperId ANON (contactId, requestedBy, reviewToken, timeRequested, timeRequestNotified, reviewModified, reviewSubmitted,
    reviewNotified, reviewAuthorNotified, reviewAuthorModified, reviewAuthorSeen, reviewerQualification)
);
CREATE INDEX PaperReview_paper ON PaperReview(paperId);

CREATE TABLE PaperReviewRefused (
  refusedReviewId SERIAL PRIMARY KEY,
  paperId INT REFERENCES ONLY Paper(paperId) ON DELETE SET NULL,
  email VARCHAR(120),
  firstName VARCHAR(120),
  lastName VARCHAR(120),
  affiliation VARCHAR(2048),
  contactId INT NOT NULL OWNED_BY ContactInfo(contactId),
  requestedBy INT ACCESSED_BY ContactInfo(contactId),
  timeRequested BIGINT,
  refusedBy INT ACCESSED_BY ContactInfo(contactId),
  timeRefused BIGINT,
  reviewType SMALLINT NOT NULL DEFAULT 0,
  reason TEXT,
  ON GET requestedBy ANON (email, firstName, lastName, affiliation, contactId),
  ON GET refusedBy ANON (email, firstName, lastName, affiliation, contactId),
  ON DEL requestedBy ANON (requestedBy),
  ON DEL refusedBy ANON (refusedBy)
);

CREATE TABLE ReviewRating (
  paperId INT REFERENCES ONLY Paper(paperId) ON DELETE CASCADE,
  reviewId INT REFERENCES ONLY PaperReview(reviewId) ON DELETE CASCADE,
  contactId INT OWNED_BY ContactInfo(contactId),
  rating INT NOT NULL DEFAULT 0,
  PRIMARY KEY (paperId, reviewId, contactId)
);

-- Someone whom a reviewer proposed: a person of their own, whose row the authors hold too without learning who it is.
CREATE DATA_SUBJECT TABLE ReviewRequest (
  requestId SERIAL PRIMARY KEY,
  paperId INT OWNED_BY Paper(paperId),
  firstName VARCHAR(120),
  lastName VARCHAR(120),
  email VARCHAR(120),
  affiliation VARCHAR(2048),
  reason TEXT,
  requestedBy INT ACCESSED_BY ContactInfo(contactId),
  timeRequested BIGINT,
  reviewRound INT,
  ON GET paperId ANON (email, firstName, lastName, affiliation, requestedBy, timeRequested)
);
