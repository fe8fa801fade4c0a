# Answers cases on standard input with what the snippet says of each.
require "json"
require_relative "verify"

cases = JSON.parse($stdin.read)
said = cases.map do |one|
  verify(one["header"], [one["body"]].pack("H*"), one["secret"], one["now"])
end
puts JSON.generate(said)
