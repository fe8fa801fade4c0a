//! Word documents: XML in a zip archive.

use std::io::{Cursor, Read as _};

use offhook_domain::DocumentFault;
use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::Event;
use zip::ZipArchive;

use crate::MAX_TEXT_BYTES;

/// The archive member with the text.
const BODY: &str = "word/document.xml";

/// The largest unpacked size of the text.
const MAX_XML_BYTES: u64 = 64 * 1024 * 1024;

/// The highest compression ratio; real XML stays below one hundred.
const MAX_RATIO: u64 = 200;

/// Below this size every ratio is allowed.
const SMALL: u64 = 1024 * 1024;

pub(super) fn text(content: &[u8]) -> Result<String, DocumentFault> {
    if content.starts_with(&[0xd0, 0xcf, 0x11, 0xe0]) {
        return Err(DocumentFault::OldWord);
    }
    let mut archive = ZipArchive::new(Cursor::new(content)).map_err(|_| DocumentFault::Word)?;
    let part = archive.by_name(BODY).map_err(|_| DocumentFault::Word)?;
    // The archive may lie about the size, so the output is counted too.
    let most = MAX_XML_BYTES.min((part.compressed_size() * MAX_RATIO).max(SMALL));
    if part.size() > most {
        return Err(DocumentFault::WordBomb);
    }
    let mut xml = Vec::new();
    part.take(most + 1)
        .read_to_end(&mut xml)
        .map_err(|_| DocumentFault::Word)?;
    if xml.len() as u64 > most {
        return Err(DocumentFault::WordBomb);
    }
    let xml = String::from_utf8(xml).map_err(|_| DocumentFault::Word)?;
    paragraphs(&xml)
}

/// The text runs of the body; paragraphs and rows end lines. Only the five entities of XML itself are resolved.
fn paragraphs(xml: &str) -> Result<String, DocumentFault> {
    let mut reader = Reader::from_str(xml);
    let mut text = String::new();
    let mut in_run = false;
    loop {
        match reader.read_event().map_err(|_| DocumentFault::Word)? {
            Event::Eof => return Ok(text),
            Event::Start(tag) => in_run = tag.local_name().as_ref() == "t",
            Event::Empty(tag) => match tag.local_name().as_ref() {
                "tab" => text.push('\t'),
                "br" | "cr" => text.push('\n'),
                "p" => text.push('\n'),
                _ => {}
            },
            Event::End(tag) => {
                in_run = false;
                match tag.local_name().as_ref() {
                    "p" => text.push('\n'),
                    "tc" => text.push('\t'),
                    _ => {}
                }
            }
            Event::Text(run) if in_run => text.push_str(&run.xml10_content()),
            Event::CData(run) if in_run => text.push_str(&run.xml10_content()),
            Event::GeneralRef(name) if in_run => match name.resolve_char_ref() {
                Ok(Some(character)) => text.push(character),
                _ => {
                    let entity = name.xml10_content();
                    text.push_str(resolve_predefined_entity(&entity).unwrap_or_default());
                }
            },
            _ => {}
        }
        if text.len() > MAX_TEXT_BYTES {
            return Err(DocumentFault::TooLong);
        }
    }
}
