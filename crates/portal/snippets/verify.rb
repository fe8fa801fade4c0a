require "openssl"

# Whether X-Service-Signature is a signature of the raw body, not older than five minutes.
def verify(header, body, secret, now = Time.now.to_i)
  items = header.split(",").map { |item| item.split("=", 2) }
  times = items.select { |name, _| name == "t" }.map { |_, value| value.to_s }
  return false unless times.size == 1 && times[0].match?(/\A[0-9]{1,12}\z/)
  return false if (now - times[0].to_i).abs > 300

  expected = OpenSSL::HMAC.hexdigest("SHA256", secret, "#{times[0]}.".b + body.b)
  # One that fits is enough: during a rotation there are several.
  items.any? { |name, value| name == "v1" && OpenSSL.secure_compare(value.to_s, expected) }
end
