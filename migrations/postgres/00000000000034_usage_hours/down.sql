DROP TABLE usage_hours;
