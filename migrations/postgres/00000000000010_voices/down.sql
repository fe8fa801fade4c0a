DROP TABLE voices;
