//! A `multipart/form-data` body with a file (RFC 7578), in memory.

pub(crate) struct Form {
    pub(crate) content_type: String,
    pub(crate) body: Vec<u8>,
}

/// A form of these fields and one file. All names are constants that need no quoting; values may be anything.
pub(crate) fn with_file(
    fields: &[(&'static str, String)],
    file_field: &'static str,
    file_name: &'static str,
    file_type: &'static str,
    file: &[u8],
) -> Form {
    let boundary = boundary(fields, file);
    let mut body = Vec::with_capacity(file.len() + 1_024);
    for (name, value) in fields {
        let head = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"
        );
        body.extend(head.as_bytes());
    }
    let head = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"{file_field}\"; filename=\"{file_name}\"\r\n\
         Content-Type: {file_type}\r\n\r\n"
    );
    body.extend(head.as_bytes());
    body.extend(file);
    body.extend(format!("\r\n--{boundary}--\r\n").as_bytes());
    Form {
        content_type: format!("multipart/form-data; boundary={boundary}"),
        body,
    }
}

/// A boundary that occurs in no part.
fn boundary(fields: &[(&'static str, String)], file: &[u8]) -> String {
    let is_free = |boundary: &String| {
        let wanted = boundary.as_bytes();
        let holds = |bytes: &[u8]| bytes.windows(wanted.len()).any(|window| window == wanted);
        !holds(file) && !fields.iter().any(|(_, value)| holds(value.as_bytes()))
    };
    (0_u32..)
        .map(|number| format!("offhook-form-{number:08}"))
        .find(is_free)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_before_the_file_and_the_boundary_is_in_neither() {
        let fields = [("model", "offhook-form-00000000".to_owned())];
        let file = b"\0offhook-form-00000001\xff";
        let form = with_file(&fields, "file", "speech.wav", "audio/wav", file);
        let boundary = "offhook-form-00000002";
        assert_eq!(
            form.content_type,
            format!("multipart/form-data; boundary={boundary}")
        );
        let mut expected = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\noffhook-form-00000000\r\n\
             --{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"speech.wav\"\r\n\
             Content-Type: audio/wav\r\n\r\n"
        )
        .into_bytes();
        expected.extend(file);
        expected.extend(format!("\r\n--{boundary}--\r\n").as_bytes());
        assert_eq!(form.body, expected);
    }
}
