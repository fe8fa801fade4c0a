<?php

/** Whether X-Service-Signature is a signature of the raw body, not older than five minutes. */
function verify(string $header, string $body, string $secret, ?int $now = null): bool
{
    $times = [];
    $signatures = [];
    foreach (explode(',', $header) as $item) {
        [$name, $value] = array_pad(explode('=', $item, 2), 2, '');
        if ($name === 't') {
            $times[] = $value;
        } elseif ($name === 'v1') {
            $signatures[] = $value;
        }
    }
    if (count($times) !== 1 || !preg_match('/\A[0-9]{1,12}\z/', $times[0])) {
        return false;
    }
    if (abs(($now ?? time()) - (int) $times[0]) > 300) {
        return false;
    }
    $expected = hash_hmac('sha256', $times[0] . '.' . $body, $secret);
    foreach ($signatures as $signature) {
        // One that fits is enough: during a rotation there are several.
        if (hash_equals($expected, $signature)) {
            return true;
        }
    }
    return false;
}
