//! Files to upload: honest ones, and an attacker's.

use std::fmt::Write as _;
use std::io::{Cursor, Write as _};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// A Word document with these paragraphs.
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

/// A Word document of a few kilobytes whose text decompresses to 300 MiB.
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

/// A one-page PDF with this line of ASCII.
pub fn pdf(line: &str) -> Vec<u8> {
    assemble(line, "", &[])
}

/// A PDF that needs a password.
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

/// A PDF of a few megabytes whose page decompresses to more than any reader's memory.
pub fn pdf_bomb() -> Vec<u8> {
    page(
        "/Filter /FlateDecode",
        &deflated_spaces(1_000_000_000),
        "",
        &[],
    )
}

/// `count` spaces in zlib format (RFC 1950, RFC 1951), without the checksum, which no reader reaches.
fn deflated_spaces(count: usize) -> Vec<u8> {
    let mut bytes = vec![0x78, 0x9c];
    let (mut pending, mut bits) = (0_u32, 0_u32);
    let mut put = |code: &str| {
        for bit in code.bytes() {
            pending |= u32::from(bit == b'1') << bits;
            bits += 1;
            if bits == 8 {
                bytes.push(pending.to_le_bytes()[0]);
                (pending, bits) = (0, 0);
            }
        }
    };
    // The last block, with fixed codes: one space, then over and over the previous 258 bytes at distance one.
    put("1");
    put("10");
    put("01010000");
    for _ in 0..count / 258 {
        put("11000101");
        put("00000");
    }
    put("0000000");
    put("0000000");
    bytes
}

fn assemble(line: &str, trailer: &str, more: &[String]) -> Vec<u8> {
    let content = format!("BT /F1 12 Tf 72 720 Td ({line}) Tj ET");
    page("", content.as_bytes(), trailer, more)
}

fn page(filter: &str, content: &[u8], trailer: &str, more: &[String]) -> Vec<u8> {
    let object = |text: &str| text.as_bytes().to_vec();
    let head = format!("<< /Length {} {filter} >>\nstream\n", content.len());
    let mut objects = vec![
        object("<< /Type /Catalog /Pages 2 0 R >>"),
        object("<< /Type /Pages /Kids [3 0 R] /Count 1 >>"),
        object(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R \
             /Resources << /Font << /F1 5 0 R >> >> >>",
        ),
        [head.as_bytes(), content, b"\nendstream"].concat(),
        object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"),
    ];
    objects.extend(more.iter().map(|text| object(text)));
    let mut file = object("%PDF-1.4\n");
    let mut table = "0000000000 65535 f \n".to_owned();
    for (at, object) in objects.iter().enumerate() {
        // Writing to a String does not fail.
        let _ = writeln!(table, "{:010} 00000 n ", file.len());
        file.extend(format!("{} 0 obj\n", at + 1).into_bytes());
        file.extend(object);
        file.extend(b"\nendobj\n");
    }
    let (count, start) = (objects.len() + 1, file.len());
    file.extend(
        format!(
            "xref\n0 {count}\n{table}trailer\n<< /Size {count} /Root 1 0 R {trailer} >>\nstartxref\n{start}\n%%EOF\n"
        )
        .into_bytes(),
    );
    file
}
