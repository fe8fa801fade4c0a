//! PDF and Word documents.

use offhook_documents::{Format, extract};
use offhook_testkit::files;

fn said(format: Format, content: &[u8]) -> String {
    extract(format, content).unwrap_err().to_string()
}

#[test]
fn a_word_document_is_read_paragraph_by_paragraph() {
    let file = files::docx(&["The pool opens at nine.", "Tom & Ana <3"]);
    let expected = "The pool opens at nine.\nTom & Ana <3\n";
    assert_eq!(extract(Format::Docx, &file).unwrap(), expected);
}

#[test]
fn a_zip_bomb_is_refused_before_it_is_unpacked() {
    let bomb = files::docx_bomb();
    assert!(bomb.len() < 1024 * 1024);
    assert!(said(Format::Docx, &bomb).contains("unpacks to far more"));
}

#[test]
fn what_is_no_word_document_says_how_to_make_one() {
    assert!(said(Format::Docx, b"PK\x03\x04 nonsense").contains("save it as .docx anew"));
    let old = [&[0xd0, 0xcf, 0x11, 0xe0][..], &[0; 600]].concat();
    assert!(said(Format::Docx, &old).contains("old .doc format"));
}

#[test]
fn a_pdf_is_read() {
    let text = extract(Format::Pdf, &files::pdf("The pool opens at nine.")).unwrap();
    assert_eq!(text.trim(), "The pool opens at nine.");
}

#[test]
fn an_encrypted_pdf_says_that_it_needs_a_password() {
    assert!(said(Format::Pdf, &files::encrypted_pdf()).contains("protected by a password"));
}

#[test]
fn a_broken_or_empty_pdf_says_what_to_do() {
    assert!(said(Format::Pdf, b"%PDF-1.7 nonsense").contains("print it to a new PDF"));
    assert!(said(Format::Pdf, &files::pdf(" ")).contains("OCR"));
}
