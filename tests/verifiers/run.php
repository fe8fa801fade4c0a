<?php

// Answers cases on standard input with what the snippet says of each.
require __DIR__ . '/verify.php';

$cases = json_decode(stream_get_contents(STDIN), true);
$said = array_map(
    fn ($case) => verify($case['header'], hex2bin($case['body']), $case['secret'], $case['now']),
    $cases
);
echo json_encode($said);
