package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

// Verify reports whether X-Service-Signature is a signature of the raw body, not older than five minutes.
func Verify(header string, body []byte, secret string, now time.Time) bool {
	var times []string
	var signatures [][]byte
	for _, item := range strings.Split(header, ",") {
		name, value, _ := strings.Cut(item, "=")
		switch name {
		case "t":
			times = append(times, value)
		case "v1":
			if signature, err := hex.DecodeString(value); err == nil {
				signatures = append(signatures, signature)
			}
		}
	}
	if len(times) != 1 {
		return false
	}
	sent, err := strconv.ParseUint(times[0], 10, 40)
	if err != nil || now.Sub(time.Unix(int64(sent), 0)).Abs() > 5*time.Minute {
		return false
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(times[0] + "."))
	mac.Write(body)
	expected := mac.Sum(nil)
	for _, signature := range signatures {
		// One that fits is enough: during a rotation there are several.
		if hmac.Equal(signature, expected) {
			return true
		}
	}
	return false
}
