// The fuzz target of a text format. Byte 1 of the input chooses options, the rest is the file.
#pragma once
#include "fuzz.h"
#include "quorate/stream/example_reader.h"

namespace quorate::fuzz {

inline int read(const char* format, const std::uint8_t* data, std::size_t size) {
  Input in(data, size);
  const std::uint8_t choice = in.byte();
  ReadOptions options;
  options.format = format;
  options.skip_bad_lines = (choice & 1) != 0;
  if ((choice & 2) != 0) options.time = "time";
  if ((choice & 4) != 0 && options.format == "csv") options.categorical = {"c"};
  const FeatureSettings features{.bits = (choice & 8) != 0 ? 0u : 10u,
                                 .normalize = (choice & 16) == 0,
                                 .ngrams = (choice & 32) != 0 ? 3u : 1u,
                                 .char_ngrams = (choice & 64) != 0 ? 3u : 0u};
  only_errors([&] {
    const std::string path = file_of("input", in.rest());
    Featurizer featurizer(features);
    Labels labels("spam");
    ExampleReader examples(path, options, featurizer, labels, (choice & 64) != 0);
    for (ExampleReader::Item item; examples.next(item);) {
      check_features(item.x);
      require(!item.time || std::isfinite(*item.time), "times are finite");
    }
    require(options.skip_bad_lines || examples.skipped() == 0, "bad lines are skipped on request only");
  });
  return 0;
}

}  // namespace quorate::fuzz
