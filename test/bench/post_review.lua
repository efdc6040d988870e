-- For wrk: posts the review whose file is named by $REVIEW.
local file = assert(io.open(assert(os.getenv("REVIEW"), "set REVIEW to a file with an AdmissionReview"), "rb"))
wrk.method = "POST"
wrk.body = file:read("*a")
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Accept-Encoding"] = "gzip"
file:close()
