curl -sS https://offhook.example/v1/calls \
  -H "Authorization: Bearer $OFFHOOK_KEY" \
  -H "Content-Type: application/json" \
  -H "Idempotency-Key: order-4711" \
  -d '{"agent_id": "AGENT_ID", "to": "+5215512345678", "metadata": {"name": "Ana"}}'
