//! The typeface of invoices: Liberation Sans. Each document embeds only the letters it uses. The typeface covers Latin,
//! Greek and Cyrillic scripts; other letters become an empty box.

use std::collections::BTreeMap;

use crate::Result;

use offhook_storage::StoreError;
use pdf_writer::types::{CidFontType, FontFlags, SystemInfo, TextRenderingMode, UnicodeCmap};
use pdf_writer::{Content, Name, Pdf, Rect, Ref, Str};
use subsetter::GlyphRemapper;
use ttf_parser::Face;
use unicode_normalization::UnicodeNormalization as _;

const FILE: &[u8] = include_bytes!("../../../fonts/LiberationSans-Regular.ttf");

/// The font's name in the resources of a page.
pub(super) const NAME: Name<'static> = Name(b"F1");

/// A letter's code in the document is its place among the used letters.
const ENCODING: Name<'static> = Name(b"Identity-H");
const SYSTEM: SystemInfo<'static> = SystemInfo {
    registry: Str(b"Adobe"),
    ordering: Str(b"Identity"),
    supplement: 0,
};

/// The width of the outline of bold letters, relative to their size.
const BOLD_OUTLINE: f32 = 0.03;

/// The font's objects in a document.
pub(super) struct Objects {
    pub(super) font: Ref,
    pub(super) letters: Ref,
    pub(super) descriptor: Ref,
    pub(super) file: Ref,
    pub(super) unicode: Ref,
}

/// The typeface, and the part of it that one document uses.
pub(super) struct Typeface {
    face: Face<'static>,
    used: GlyphRemapper,
    /// The characters by their codes in the document.
    characters: BTreeMap<u16, char>,
}

impl Typeface {
    pub(super) fn load() -> Result<Self> {
        let face = Face::parse(FILE, 0).map_err(|error| broken(&error))?;
        Ok(Self {
            face,
            used: GlyphRemapper::new(),
            characters: BTreeMap::new(),
        })
    }

    /// Writes a line of text that begins at `x`.
    pub(super) fn write(
        &mut self,
        content: &mut Content,
        (size, bold): (f32, bool),
        (x, y): (f32, f32),
        text: &str,
    ) {
        let codes = self.codes(text);
        content.save_state();
        content.begin_text();
        content.set_font(NAME, size);
        if bold {
            content.set_line_width(size * BOLD_OUTLINE);
            content.set_text_rendering_mode(TextRenderingMode::FillStroke);
        }
        content.next_line(x, y);
        content.show(Str(&codes));
        content.end_text();
        content.restore_state();
    }

    /// The width of a line of text.
    pub(super) fn width(&self, size: f32, text: &str) -> f32 {
        let letters = text.nfc().map(|letter| self.advance(self.glyph(letter)));
        letters.sum::<f32>() * size / 1_000.0
    }

    /// As much of the text as fits, with an ellipsis if shortened.
    pub(super) fn shortened(&self, size: f32, text: &str, most: f32) -> String {
        if self.width(size, text) <= most {
            return text.to_owned();
        }
        let mut fitting: String = text.nfc().collect();
        while fitting.pop().is_some() {
            let shortened = format!("{}…", fitting.trim_end());
            if self.width(size, &shortened) <= most {
                return shortened;
            }
        }
        String::new()
    }

    /// Writes the font into the document, with the used letters.
    pub(super) fn finish(self, pdf: &mut Pdf, objects: &Objects) -> Result<()> {
        let file = subsetter::subset(FILE, 0, &self.used).map_err(|error| broken(&error))?;
        let name = format!("{}+LiberationSans", self.tag());
        let name = Name(name.as_bytes());
        pdf.type0_font(objects.font)
            .base_font(name)
            .encoding_predefined(ENCODING)
            .descendant_font(objects.letters)
            .to_unicode(objects.unicode);
        let mut letters = pdf.cid_font(objects.letters);
        letters
            .subtype(CidFontType::Type2)
            .base_font(name)
            .system_info(SYSTEM)
            .font_descriptor(objects.descriptor)
            .default_width(0.0)
            .cid_to_gid_map_predefined(Name(b"Identity"));
        let widths = self.used.remapped_gids().map(|glyph| self.advance(glyph));
        letters.widths().consecutive(0, widths);
        drop(letters);
        let scaled = |units: i16| f32::from(units) * self.scale();
        let frame = self.face.global_bounding_box();
        let (low, high) = (scaled(frame.y_min), scaled(frame.y_max));
        pdf.font_descriptor(objects.descriptor)
            .name(name)
            .flags(FontFlags::SYMBOLIC)
            .bbox(Rect::new(
                scaled(frame.x_min),
                low,
                scaled(frame.x_max),
                high,
            ))
            .italic_angle(0.0)
            .ascent(scaled(self.face.ascender()))
            .descent(scaled(self.face.descender()))
            .cap_height(scaled(self.face.capital_height().unwrap_or(0)))
            .stem_v(80.0)
            .font_file2(objects.file);
        let length = i32::try_from(file.len()).unwrap_or(i32::MAX);
        pdf.stream(objects.file, &file)
            .pair(Name(b"Length1"), length);
        let mut unicode = UnicodeCmap::new(Name(b"Custom"), SYSTEM);
        for (code, character) in &self.characters {
            unicode.pair(*code, *character);
        }
        pdf.cmap(objects.unicode, &unicode.finish());
        Ok(())
    }

    fn glyph(&self, letter: char) -> u16 {
        self.face.glyph_index(letter).map_or(0, |glyph| glyph.0)
    }

    /// Encodes text for the document: two bytes per letter.
    fn codes(&mut self, text: &str) -> Vec<u8> {
        let mut codes = Vec::with_capacity(text.len() * 2);
        for letter in text.nfc() {
            let glyph = self.glyph(letter);
            let code = self.used.remap(glyph);
            let known = if glyph == 0 { '\u{fffd}' } else { letter };
            self.characters.entry(code).or_insert(known);
            codes.extend(code.to_be_bytes());
        }
        codes
    }

    /// The width of a letter, in thousandths of the size.
    fn advance(&self, glyph: u16) -> f32 {
        let advance = self.face.glyph_hor_advance(ttf_parser::GlyphId(glyph));
        f32::from(advance.unwrap_or(0)) * self.scale()
    }

    fn scale(&self) -> f32 {
        1_000.0 / f32::from(self.face.units_per_em())
    }

    /// Six letters that distinguish this subset from others.
    fn tag(&self) -> String {
        // FNV-1a.
        let mut hash = self
            .used
            .remapped_gids()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, glyph| {
                (hash ^ u64::from(glyph)).wrapping_mul(0x0100_0000_01b3)
            });
        let mut letters = String::new();
        for _ in 0..6 {
            letters.push(char::from(b'A' + u8::try_from(hash % 26).unwrap_or(0)));
            hash /= 26;
        }
        letters
    }
}

fn broken(error: &impl std::fmt::Display) -> StoreError {
    StoreError::Corrupt(format!("the typeface of invoices: {error}"))
}
