//! SIP as text, just enough for a phone (RFC 3261 §7).

/// A message as received.
#[derive(Debug, Clone)]
pub(super) struct Message(String);

impl Message {
    /// `None` for a keep-alive datagram.
    pub(super) fn read(datagram: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(datagram).into_owned();
        text.contains("\r\n\r\n").then_some(Self(text))
    }

    fn head(&self) -> &str {
        self.0
            .split_once("\r\n\r\n")
            .map_or(&*self.0, |(head, _)| head)
    }

    pub(super) fn body(&self) -> &str {
        self.0.split_once("\r\n\r\n").map_or("", |(_, body)| body)
    }

    fn start(&self) -> &str {
        self.0.lines().next().unwrap_or_default()
    }

    /// The method of a request; `None` for a response.
    pub(super) fn method(&self) -> Option<&str> {
        let word = self.start().split(' ').next()?;
        (!word.starts_with("SIP/")).then_some(word)
    }

    /// The status code of a response.
    pub(super) fn status(&self) -> Option<u16> {
        self.start()
            .strip_prefix("SIP/2.0 ")?
            .get(..3)?
            .parse()
            .ok()
    }

    fn headers<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.head().lines().skip(1).filter_map(move |line| {
            let (found, value) = line.split_once(':')?;
            found
                .trim()
                .eq_ignore_ascii_case(name)
                .then(|| value.trim())
        })
    }

    /// A header's first value; empty if it is missing.
    pub(super) fn header<'a>(&'a self, name: &'a str) -> &'a str {
        self.headers(name).next().unwrap_or_default()
    }

    pub(super) fn call_id(&self) -> &str {
        self.header("Call-ID")
    }

    /// The number and the method of `CSeq`.
    pub(super) fn cseq(&self) -> (u32, &str) {
        let (number, method) = self.header("CSeq").split_once(' ').unwrap_or_default();
        (number.parse().unwrap_or_default(), method)
    }

    /// The address between the brackets of a header.
    pub(super) fn address<'a>(&'a self, name: &'a str) -> &'a str {
        let value = self.header(name);
        let inner = value
            .split_once('<')
            .and_then(|(_, rest)| rest.split_once('>'));
        inner.map_or(value, |(inner, _)| inner)
    }

    /// The tag of `From` or `To`.
    pub(super) fn tag<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        let (_, rest) = self.header(name).split_once(";tag=")?;
        rest.split(';').next()
    }

    /// A response to this request, with our `tag`.
    pub(super) fn answer(&self, status: &str, tag: &str, contact: &str, body: &str) -> String {
        let mut answer = format!("SIP/2.0 {status}\r\n");
        for via in self.headers("Via") {
            answer += &format!("Via: {via}\r\n");
        }
        for route in self.headers("Record-Route") {
            answer += &format!("Record-Route: {route}\r\n");
        }
        let to = self.header("To");
        answer += &format!("From: {}\r\nTo: {to}", self.header("From"));
        if !to.contains(";tag=") && !status.starts_with("100") {
            answer += &format!(";tag={tag}");
        }
        answer += &format!(
            "\r\nCall-ID: {}\r\nCSeq: {}\r\nContact: <{contact}>\r\n",
            self.call_id(),
            self.header("CSeq")
        );
        answer + &with_body(body)
    }
}

/// The end of a message: the headers for its body, and the body.
pub(super) fn with_body(body: &str) -> String {
    let kind = if body.is_empty() {
        ""
    } else {
        "Content-Type: application/sdp\r\n"
    };
    format!("{kind}Content-Length: {}\r\n\r\n{body}", body.len())
}
