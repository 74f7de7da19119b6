-- Ada and Ben wrote paper 1, Cyd paper 2. Dov reviews both, Cyd reviews paper 1, Ada (an author) reviews paper 2. Eve chairs.
INSERT INTO Settings VALUES ('sub_open', 1, NULL);
INSERT INTO TopicArea (topicId, topicName) VALUES (1, 'Databases'), (2, 'Law');
INSERT INTO MailLog (mailId, recipients, subject, emailBody) VALUES (1, 'authors', 'Submission', 'Dear authors of %TITLE%');
INSERT INTO PaperTagAnno (tag, annoId, heading) VALUES ('accept', 1, 'Accepted');
INSERT INTO PaperStorage (paperStorageId, filename) VALUES (1, 'one.pdf'), (2, 'two.pdf'), (3, 'one.txt');
INSERT INTO ContactInfo (contactId, firstName, lastName, email, affiliation) VALUES
  (1, 'Ada', 'A', 'ada@example.org', 'Engines'), (2, 'Ben', 'B', 'ben@example.org', 'Clocks'), (3, 'Cyd', 'C', 'cyd@example.org', 'Sails'),
  (4, 'Dov', 'D', 'dov@example.org', 'Offers'), (5, 'Eve', 'E', 'eve@example.org', 'Chairs');
INSERT INTO DeletedContactInfo VALUES (4, 'Dov', 'D', 'Dov D', 'old-dov@example.org');
INSERT INTO Paper (paperId, title, authorInformation, collaborators, paperStorageId, leadContactId, shepherdContactId, managerContactId) VALUES
  (1, 'Engines that forget', 'Ada A, Ben B', 'All of Engines', 1, 4, 4, 5), (2, 'Sails', 'Cyd C', NULL, 2, NULL, NULL, 5);
INSERT INTO PaperAuthors (paperAuthorId, paperId, contactId) VALUES (1, 1, 1), (2, 1, 2), (3, 2, 3);
INSERT INTO PaperConflict (paperId, contactId, conflictType) VALUES (1, 3, 2), (2, 2, 3);
INSERT INTO ActionLog (logId, contactId, destContactId, trueContactId, paperId, ipaddr, action) VALUES
  (1, 1, NULL, NULL, 1, '192.0.2.1', 'Submitted'), (2, 5, 4, 5, 1, '192.0.2.5', 'Assigned a review');
INSERT INTO Capability (salt, capabilityType, contactId, paperId) VALUES ('salt-1', 1, 2, 1), ('salt-2', 2, 5, NULL);
INSERT INTO PaperWatch (paperId, contactId, watch) VALUES (1, 2, 1), (2, 5, 1);
INSERT INTO PaperReviewPreference (paperId, contactId, preference) VALUES (1, 4, 5), (2, 4, -5);
INSERT INTO PaperComment (commentId, paperId, contactId, comment) VALUES (1, 1, 4, 'Promising'), (2, 2, 5, 'Too short');
INSERT INTO DocumentLink (documentLinkId, paperId, linkId, documentId) VALUES (1, 1, 1, 101);
INSERT INTO FilteredDocument (inDocId, filterType, outDocId) VALUES (101, 1, 3);
INSERT INTO PaperOption (paperOptionId, paperId, optionId, value) VALUES (1, 1, 7, 1), (2, 2, 7, 0);
INSERT INTO PaperTag (paperId, tag) VALUES (1, 'accept'), (2, 'discuss');
INSERT INTO PaperTopic (paperId, topicId) VALUES (1, 1), (1, 2), (2, 1);
INSERT INTO TopicInterest (contactId, topicId, interest) VALUES (4, 2, 3);
INSERT INTO Formula (formulaId, name, expression, createdBy) VALUES (1, 'mean', 'avg(OveMer)', 5);
INSERT INTO PaperReview (reviewId, paperId, contactId, requestedBy, overAllMerit, textFields) VALUES
  (1, 1, 4, 5, 4, 'Accept'), (2, 1, 3, 5, 2, 'Reject'), (3, 2, 4, NULL, 3, 'Hm'), (4, 2, 1, 3, 5, 'Splendid');
INSERT INTO PaperReviewRefused (refusedReviewId, paperId, email, firstName, lastName, contactId, requestedBy, refusedBy) VALUES
  (1, 2, 'ben@example.org', 'Ben', 'B', 2, 5, 2), (2, 1, 'eve@example.org', 'Eve', 'E', 5, 4, 3);
INSERT INTO ReviewRating (paperId, reviewId, contactId, rating) VALUES (1, 1, 3, 1), (2, 3, 5, -1);
INSERT INTO ReviewRequest (requestId, paperId, firstName, lastName, email, requestedBy) VALUES (1, 1, 'Fay', 'F', 'fay@example.org', 4), (2, 2, 'Gus', 'G', 'gus@example.org', 5);
