DROP TABLE portal_shown_once;
