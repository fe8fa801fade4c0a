curl -sS https://offhook.example/v1/me \
  -H "Authorization: Bearer $OFFHOOK_KEY"
