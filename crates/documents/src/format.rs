//! The supported file formats.

use std::fmt;
use std::str::FromStr;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Text,
    /// Markdown, kept as written.
    Markdown,
    Html,
    Pdf,
    /// Word's zipped XML.
    Docx,
    /// A table with one header line.
    Csv,
}

impl Format {
    pub const ALL: [Self; 6] = [
        Self::Text,
        Self::Markdown,
        Self::Html,
        Self::Pdf,
        Self::Docx,
        Self::Csv,
    ];

    /// The file extension, which is also the child process's argument.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Text => "txt",
            Self::Markdown => "md",
            Self::Html => "html",
            Self::Pdf => "pdf",
            Self::Docx => "docx",
            Self::Csv => "csv",
        }
    }

    pub const fn mime_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain",
            Self::Markdown => "text/markdown",
            Self::Html => "text/html",
            Self::Pdf => "application/pdf",
            Self::Docx => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            Self::Csv => "text/csv",
        }
    }

    /// The format of a file name's extension; `None` without an extension, `Err` for an unsupported one.
    pub fn of_name(name: &str) -> Result<Option<Self>, UnknownFormat> {
        let Some((stem, ending)) = name.rsplit_once('.') else {
            return Ok(None);
        };
        // "Prices 1.5" and "v2. Draft" have no extension.
        let is_ending = (1..=5).contains(&ending.len())
            && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && ending.bytes().any(|byte| byte.is_ascii_alphabetic())
            && !stem.trim().is_empty();
        if !is_ending {
            return Ok(None);
        }
        ending.parse().map(Some)
    }

    /// The format of a media type; parameters are ignored.
    pub fn of_mime_type(text: &str) -> Option<Self> {
        let essence = text.split(';').next().unwrap_or_default().trim();
        let found = Self::ALL
            .into_iter()
            .find(|format| format.mime_type().eq_ignore_ascii_case(essence));
        found.or_else(|| {
            essence
                .eq_ignore_ascii_case("application/xhtml+xml")
                .then_some(Self::Html)
        })
    }

    /// The format that the content shows: one with a signature, or text.
    pub fn of_content(content: &[u8]) -> Option<Self> {
        let head = &content[..content.len().min(1024)];
        if head.windows(5).any(|bytes| bytes == b"%PDF-") {
            return Some(Self::Pdf);
        }
        if head.starts_with(b"PK\x03\x04") {
            return Some(Self::Docx);
        }
        if looks_binary(head) {
            return None;
        }
        let head = String::from_utf8_lossy(head).to_lowercase();
        let head = head.trim_start_matches('\u{feff}').trim_start();
        let is_page = head.starts_with("<!doctype html") || head.starts_with("<html");
        Some(if is_page { Self::Html } else { Self::Text })
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.extension())
    }
}

/// The extension is not supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownFormat;

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(ending: &str) -> Result<Self, UnknownFormat> {
        Ok(match ending.to_ascii_lowercase().as_str() {
            "txt" | "text" => Self::Text,
            "md" | "mdown" => Self::Markdown,
            "html" | "htm" | "xhtml" => Self::Html,
            "pdf" => Self::Pdf,
            "docx" => Self::Docx,
            "csv" => Self::Csv,
            _ => return Err(UnknownFormat),
        })
    }
}

/// Whether it contains bytes that do not occur in text.
pub(crate) fn looks_binary(content: &[u8]) -> bool {
    content
        .iter()
        .any(|byte| matches!(byte, 0..=8 | 14..=26 | 28..=31))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_its_kind_by_its_ending_alone() {
        assert_eq!(Format::of_name("Prices.PDF"), Ok(Some(Format::Pdf)));
        assert_eq!(Format::of_name("a.b.htm"), Ok(Some(Format::Html)));
        for plain in [
            "Prices",
            "Prices 1.5",
            "v2. The draft",
            ".",
            "",
            ".pdf",
            "a.",
        ] {
            assert_eq!(Format::of_name(plain), Ok(None), "{plain}");
        }
        for other in ["a.exe", "a.xlsx", "a.tar.gz"] {
            assert_eq!(Format::of_name(other), Err(UnknownFormat), "{other}");
        }
    }

    #[test]
    fn media_types_and_content_say_it_too() {
        for format in Format::ALL {
            assert_eq!(Format::of_mime_type(format.mime_type()), Some(format));
            assert_eq!(format.extension().parse(), Ok(format));
        }
        assert_eq!(
            Format::of_mime_type("Text/HTML; charset=utf-8"),
            Some(Format::Html)
        );
        assert_eq!(Format::of_mime_type("image/png"), None);
        assert_eq!(Format::of_content(b"%PDF-1.7 ..."), Some(Format::Pdf));
        assert_eq!(Format::of_content(b"PK\x03\x04..."), Some(Format::Docx));
        assert_eq!(
            Format::of_content(b" <!DOCTYPE html><p>"),
            Some(Format::Html)
        );
        assert_eq!(Format::of_content("Año".as_bytes()), Some(Format::Text));
        assert_eq!(Format::of_content(b"\x89PNG\r\n\x1a\n\0\0"), None);
    }
}
