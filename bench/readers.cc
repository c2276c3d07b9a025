// Reading: bytes a second of text to records and to instances, for each format, from a file in the page cache.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <filesystem>

#include "quorate/base/rng.h"
#include "quorate/store/files.h"
#include "quorate/stream/example_reader.h"

namespace quorate {
namespace {

/// 20,000 examples with 60 features each, of a dictionary of 20,000, in this format.
std::string write_file(const FileFormat& format, const char* ending, bool text) {
  Rng rng = make_rng(7, 0);
  const std::string path =
      std::filesystem::temp_directory_path() / ("quorate_bench" + std::string(text ? "_text" : "") + ending);
  std::vector<std::string> columns;
  for (int c = 0; c < 60; ++c) columns.push_back("column" + std::to_string(c));
  const auto writer = format.write({.features = columns});
  OutputFile out(path);
  out.write(writer->header());
  Record r;
  for (int n = 0; n < 20'000; ++n) {
    r.clear();
    r.label = n % 3 == 0 ? "1" : "-1";
    r.task = r.keep("user" + std::to_string(below(100, rng)));
    std::string words;
    Index index = 0;
    for (std::size_t k = 0; k < 60; ++k) {
      index += 1 + static_cast<Index>(below(660, rng));
      const double value = static_cast<double>(1 + below(1000, rng)) / 8;
      if (text)
        words +=
            "word" + std::string(1, static_cast<char>('a' + below(26, rng))) + std::string(1 + below(6, rng), 'e') + " ";
      else if (&format == &FileFormat::kCsv)
        r.entries.push_back({Entry::Kind::kColumn, static_cast<Index>(k), columns[k], value});
      else if (&format == &FileFormat::kSvmlight)
        r.entries.push_back({Entry::Kind::kIndex, index, {}, value});
      else
        r.entries.push_back({Entry::Kind::kName, 0, r.keep("f^word" + std::to_string(index)), value});
    }
    if (text) r.texts.push_back({"text", r.keep(words)});
    out.write(writer->line(r));
  }
  out.commit();
  return path;
}

/// Text to records, without instances.
void records(benchmark::State& state, const FileFormat& format, const char* ending) {
  const std::string path = write_file(format, ending, false);
  for (auto _ : state) {
    const auto reader = open_reader(path);
    std::size_t values = 0;
    for (Record record; reader->next(record);) values += record.entries.size();
    benchmark::DoNotOptimize(values);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(std::filesystem::file_size(path)) * state.iterations());
  std::filesystem::remove(path);
}
BENCHMARK_CAPTURE(records, csv, FileFormat::kCsv, ".csv")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(records, jsonl, FileFormat::kJsonl, ".jsonl")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(records, svmlight, FileFormat::kSvmlight, ".svm")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(records, vw, FileFormat::kVw, ".vw")->Unit(benchmark::kMillisecond);

/// Text to instances, in this thread alone.
void reader(benchmark::State& state, const FileFormat& format, const char* ending, bool text) {
  const std::string path = write_file(format, ending, text);
  for (auto _ : state) {
    Featurizer featurizer;
    Labels labels;
    ExampleReader examples(path, {}, featurizer, labels, false);
    ExampleReader::Item item;
    std::size_t values = 0;
    while (examples.next(item)) values += item.x.size();
    benchmark::DoNotOptimize(values);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(std::filesystem::file_size(path)) * state.iterations());
  std::filesystem::remove(path);
}
BENCHMARK_CAPTURE(reader, csv, FileFormat::kCsv, ".csv", false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(reader, jsonl, FileFormat::kJsonl, ".jsonl", false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(reader, jsonl_text, FileFormat::kJsonl, ".jsonl", true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(reader, svmlight, FileFormat::kSvmlight, ".svm", false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(reader, vw, FileFormat::kVw, ".vw", false)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace quorate
