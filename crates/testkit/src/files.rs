//! Files to upload: honest ones, and those that an attacker sends.

use std::fmt::Write as _;
use std::io::{Cursor, Write as _};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// A Word document with these paragraphs.
///
/// # Panics
/// Never: it is written to memory.
#[must_use]
pub fn docx(paragraphs: &[&str]) -> Vec<u8> {
    let mut body = String::new();
    for text in paragraphs {
        let text = text.replace('&', "&amp;").replace('<', "&lt;");
        body.push_str(&format!("<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"));
    }
    zipped(&format!(
        "<?xml version=\"1.0\"?><w:document xmlns:w=\"w\"><w:body>{body}</w:body></w:document>"
    ))
}

/// A Word document of some kilobytes whose text unpacks to 300 MiB.
///
/// # Panics
/// Never: it is written to memory.
#[must_use]
pub fn docx_bomb() -> Vec<u8> {
    zipped(&" ".repeat(300 * 1024 * 1024))
}

fn zipped(document: &str) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default();
    let written = archive
        .start_file("word/document.xml", options)
        .map_err(std::io::Error::other)
        .and_then(|()| archive.write_all(document.as_bytes()));
    match written.and_then(|()| archive.finish().map_err(std::io::Error::other)) {
        Ok(cursor) => cursor.into_inner(),
        Err(error) => panic!("{error}"),
    }
}

/// A PDF of one page with this line of ASCII.
#[must_use]
pub fn pdf(line: &str) -> Vec<u8> {
    assemble(line, "", &[])
}

/// A PDF that needs a password.
#[must_use]
pub fn encrypted_pdf() -> Vec<u8> {
    let (owner, user) = ("5a".repeat(32), "a5".repeat(32));
    let encryption =
        format!("<< /Filter /Standard /V 2 /R 3 /Length 128 /P -4 /O <{owner}> /U <{user}> >>");
    assemble(
        "Secret",
        "/Encrypt 6 0 R /ID [<00112233445566778899aabbccddeeff> <00112233445566778899aabbccddeeff>]",
        &[encryption],
    )
}

fn assemble(line: &str, trailer: &str, more: &[String]) -> Vec<u8> {
    let content = format!("BT /F1 12 Tf 72 720 Td ({line}) Tj ET");
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R \
         /Resources << /Font << /F1 5 0 R >> >> >>"
            .to_owned(),
        format!(
            "<< /Length {} >>\nstream\n{content}\nendstream",
            content.len()
        ),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
            .to_owned(),
    ];
    objects.extend_from_slice(more);
    let mut file = "%PDF-1.4\n".to_owned();
    let mut table = "0000000000 65535 f \n".to_owned();
    for (at, object) in objects.iter().enumerate() {
        // Writing to a String does not fail.
        let _ = writeln!(table, "{:010} 00000 n ", file.len());
        let _ = writeln!(file, "{} 0 obj\n{object}\nendobj", at + 1);
    }
    let (count, start) = (objects.len() + 1, file.len());
    let _ = write!(
        file,
        "xref\n0 {count}\n{table}trailer\n<< /Size {count} /Root 1 0 R {trailer} >>\nstartxref\n{start}\n%%EOF\n"
    );
    file.into_bytes()
}
