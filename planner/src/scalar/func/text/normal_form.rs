//! Unicode's normal forms: normalize and IS NORMALIZED.

use super::super::arguments::{string, text, truth};
use super::super::{FunctionDefinition, strict};
use crate::scalar::Answer;
use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};
use repr::{Datum, ValueError};

/// A normal form.
enum NormalForm {
    Composed(ComposingNormalizerBorrowed<'static>),
    Decomposed(DecomposingNormalizerBorrowed<'static>),
}

impl NormalForm {
    /// The form of that name, NFC without one.
    fn named(name: Option<&Datum>) -> Result<NormalForm, ValueError> {
        let name = name.map_or(Ok("NFC"), text)?;
        Ok(match &*name.to_ascii_uppercase() {
            "NFC" => NormalForm::Composed(ComposingNormalizerBorrowed::new_nfc()),
            "NFKC" => NormalForm::Composed(ComposingNormalizerBorrowed::new_nfkc()),
            "NFD" => NormalForm::Decomposed(DecomposingNormalizerBorrowed::new_nfd()),
            "NFKD" => NormalForm::Decomposed(DecomposingNormalizerBorrowed::new_nfkd()),
            _ => return Err(ValueError::new("22023", format!("invalid normalization form: {name}"))),
        })
    }
}

fn normalize(args: &[Datum]) -> Answer {
    let source = text(&args[0])?;
    match NormalForm::named(args.get(1))? {
        NormalForm::Composed(form) => string(form.normalize(source)),
        NormalForm::Decomposed(form) => string(form.normalize(source)),
    }
}

fn is_normalized(args: &[Datum]) -> Answer {
    let source = text(&args[0])?;
    truth(match NormalForm::named(args.get(1))? {
        NormalForm::Composed(form) => form.is_normalized(source),
        NormalForm::Decomposed(form) => form.is_normalized(source),
    })
}

pub(in super::super) const NORMAL_FORMS: &[FunctionDefinition] = &[
    strict("normalize(text, text?) text", |_, a, _| normalize(a)),
    strict("is_normalized(text, text?) bool", |_, a, _| is_normalized(a)),
];
