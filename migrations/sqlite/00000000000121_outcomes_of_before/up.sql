-- By itself: the columns are added under a lock that nobody should wait for while all rows are written.
UPDATE conversations SET outcome = CASE
    WHEN termination_reason = 'voicemail' THEN 'voicemail'
    WHEN failure_reason IN ('no_answer', 'busy', 'rejected', 'invalid_number', 'cancelled', 'expired') THEN failure_reason
    WHEN failure_reason IS NOT NULL THEN 'failed'
    WHEN EXISTS (SELECT 1 FROM conversation_moments m WHERE m.conversation_id = conversations.id AND m.role = 'user')
        THEN 'answered_human'
    ELSE 'silent'
END WHERE ended_at IS NOT NULL AND outcome IS NULL;
UPDATE usage_hours SET answered = c.answered FROM (
    SELECT account_id, started_at / 3600000000 AS hour, count(*) AS answered FROM conversations
    WHERE voice AND outcome = 'answered_human' AND state = 'completed' GROUP BY 1, 2
) AS c WHERE c.account_id = usage_hours.account_id AND c.hour = usage_hours.hour;
