-- For wrk: POST the body of BENCH_BODY with the headers of BENCH_HEADERS ("name: value" lines).
wrk.method = "POST"
wrk.body = os.getenv("BENCH_BODY")
for name, value in os.getenv("BENCH_HEADERS"):gmatch("([^:\n]+): ([^\n]*)") do
  wrk.headers[name] = value
end
