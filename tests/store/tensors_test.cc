#include "quorate/store/tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "quorate/store/state.h"
#include "support/model_bytes.h"

namespace quorate::test {
namespace {

using testing::HasSubstr;

template <class T>
Tensors::Tensor tensor(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {std::string(dtype<T>()), std::vector<std::byte>(bytes.begin(), bytes.end())};
}

Tensors small() {
  Tensors out;
  out.metadata["learner"] = "perceptron";
  out.tensors["a"] = tensor<std::uint32_t>({1, 2, 3});
  out.tensors["b"] = tensor<double>({0.5, -1});
  out.tensors["c"] = tensor<char>({'x'});
  out.tensors["none"] = tensor<float>({});
  return out;
}

std::string refusal(const std::string& bytes) {
  try {
    from_bytes(bytes);
  } catch (const DataError& e) {
    return e.what();
  }
  return "accepted";
}

/// The small file with `from` in its header written as `to`, the checksum made right.
std::string edited(const std::string& from, const std::string& to) {
  const std::string file = to_bytes(small());
  std::string header = header_of(file);
  const std::size_t at = header.find(from);
  EXPECT_NE(at, header.npos) << from << " not in " << header;
  return assembled(header.replace(at, from.size(), to), data_of(file));
}

RC_GTEST_PROP(TensorFile, ReadsBackWhatWasWritten, ()) {
  Tensors in;
  const auto names = *rc::gen::container<std::vector<std::string>>(rc::gen::string<std::string>());
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::string name = "n" + std::to_string(i);  // UTF-8: keep the letters only
    for (const char c : names[i])
      if (c > 31 && c < 127) name += c;
    if (i % 3 == 0) in.tensors[name] = tensor(*rc::gen::arbitrary<std::vector<double>>());
    if (i % 3 == 1) in.tensors[name] = tensor(*rc::gen::arbitrary<std::vector<std::int8_t>>());
    if (i % 3 == 2) in.tensors[name] = tensor(*rc::gen::arbitrary<std::vector<std::uint64_t>>());
    in.metadata["text " + name] = name;
  }
  const std::string bytes = to_bytes(in);
  const Tensors out = from_bytes(bytes);
  RC_ASSERT(out.metadata == in.metadata);
  RC_ASSERT(out.tensors.size() == in.tensors.size());
  for (const auto& [name, t] : in.tensors) {
    RC_ASSERT(out.tensors.at(name).dtype == t.dtype);
    RC_ASSERT(out.tensors.at(name).bytes == t.bytes);
  }
  RC_ASSERT(to_bytes(out) == bytes);
}

TEST(TensorFile, IsASafetensorsFile) {
  const std::string file = to_bytes(small()), header = header_of(file);
  EXPECT_EQ((8 + header.size()) % 8, 0u) << "data is aligned";
  EXPECT_EQ(header.front(), '{');
  EXPECT_THAT(header, HasSubstr(R"("b":{"data_offsets":[12,28],"dtype":"F64","shape":[2]})"));
  EXPECT_THAT(header, HasSubstr(R"("format":"quorate")"));
  EXPECT_EQ(data_of(file).size(), 12u + 16 + 1);
}

TEST(TensorFile, TruncatedAnywhereIsRefused) {
  const std::string file = to_bytes(small());
  for (std::size_t n = 0; n < file.size(); ++n) EXPECT_THROW(from_bytes(file.substr(0, n)), DataError) << n << " bytes";
  EXPECT_THROW(from_bytes(file + '\0'), DataError) << "a byte more";
  EXPECT_NO_THROW(from_bytes(file));
}

TEST(TensorFile, AnyBitFlippedIsRefused) {
  const std::string file = to_bytes(small());
  for (std::size_t n = 0; n < file.size(); ++n)
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = file;
      changed[n] = static_cast<char>(changed[n] ^ (1 << bit));
      EXPECT_THROW(from_bytes(changed), DataError) << "bit " << bit << " of byte " << n;
    }
}

TEST(TensorFile, OfANewerVersionSaysSo) {
  EXPECT_THAT(refusal(edited("\"format_version\":\"1\"", "\"format_version\":\"4\"")), HasSubstr("newer"));
  EXPECT_THAT(refusal(edited("\"format_version\":\"1\"", "\"format_version\":\"17\"")),
              AllOf(HasSubstr("newer"), HasSubstr("17")));
  for (const std::string other : {"0", "", "x", "-2", "99999999999999999999", "1 "}) {
    const std::string said = refusal(edited("\"format_version\":\"1\"", "\"format_version\":\"" + other + "\""));
    EXPECT_THAT(said, AllOf(HasSubstr("version"), HasSubstr("'" + other.substr(0, 20) + "'"))) << other;
  }
}

TEST(TensorFile, OfAnotherProgramIsRefused) {
  EXPECT_THAT(refusal(edited("\"format\":\"quorate\"", "\"format\":\"pt\"")), HasSubstr("not written by quorate"));
  EXPECT_THAT(refusal(edited("\"__metadata__\"", "\"__metadatum__\"")), HasSubstr("not written by quorate"));
  EXPECT_THAT(refusal(assembled("[]", "")), HasSubstr("not a JSON object"));
  EXPECT_THAT(refusal(assembled("{}", "")), HasSubstr("not written by quorate"));
  std::string many = "{\"a\":[{}";  // would take 37 times its bytes
  while (many.size() < 400'000) many += ",{}";
  EXPECT_THAT(refusal(assembled(many + "]}", "")), HasSubstr("values"));
  EXPECT_THAT(refusal(""), HasSubstr("few"));
  EXPECT_THAT(refusal(std::string(100, '\xFF')), HasSubstr("not a safetensors file"));
  EXPECT_THAT(refusal("id,task,label\n1,a,1\n"), HasSubstr("not a safetensors file"));
  EXPECT_THAT(refusal(edited("\"learner\":\"perceptron\"", "\"learner\":7")), HasSubstr("not written by quorate"));
  EXPECT_THAT(refusal(edited("\"checksum\"", "\"checksun\"")), HasSubstr("checksum"));
}

TEST(TensorFile, OffsetsThatOverlapOrLeaveAGapAreRefused) {
  EXPECT_EQ(refusal(edited("[12,28]", "[12,28]")), "accepted");
  EXPECT_THAT(refusal(edited("[12,28]", "[8,24]")), HasSubstr("damaged"));
  EXPECT_THAT(refusal(edited("[0,12]", "[16,28]")), HasSubstr("damaged"));
  EXPECT_THAT(refusal(edited("[12,28],\"dtype\":\"F64\",\"shape\":[2]", "[12,20],\"dtype\":\"F64\",\"shape\":[1]")),
              HasSubstr("damaged"));
  const std::string file = to_bytes(small());
  EXPECT_THAT(refusal(assembled(header_of(file), data_of(file) + "x")), HasSubstr("after the last"));
  std::string header = header_of(file);  // c inside b, and every byte of the shorter data is somebody's
  header.replace(header.find("[28,29]"), 7, "[27,28]");
  header.replace(header.find("[29,29]"), 7, "[28,28]");
  EXPECT_THAT(refusal(assembled(header, data_of(file).substr(0, 28))), HasSubstr("overlap"));
}

TEST(TensorFile, ADescriptionThatDoesNotFitIsRefused) {
  const std::string b = R"("b":{"data_offsets":[12,28],"dtype":"F64","shape":[2]})";
  for (const std::string bad :
       {R"("b":{"data_offsets":[12,28],"dtype":"F64","shape":[3]})",
        R"("b":{"data_offsets":[28,12],"dtype":"F64","shape":[2]})",
        R"("b":{"data_offsets":[12,29],"dtype":"F64","shape":[2]})",
        R"("b":{"data_offsets":[12,28],"dtype":"F61","shape":[2]})",
        R"("b":{"data_offsets":[12,28],"dtype":"F32","shape":[2]})",
        R"("b":{"data_offsets":[12,28],"dtype":"F64","shape":[2,1]})",
        R"("b":{"data_offsets":[12,28],"dtype":"F64","shape":2})", R"("b":{"data_offsets":[12],"dtype":"F64","shape":[2]})",
        R"("b":{"data_offsets":[-12,28],"dtype":"F64","shape":[2]})",
        R"("b":{"data_offsets":[12.5,28],"dtype":"F64","shape":[2]})",
        R"("b":{"data_offsets":[12,18446744073709551615],"dtype":"F64","shape":[2]})",
        R"("b":{"data_offsets":[12,28],"dtype":7,"shape":[2]})", R"("b":{"data_offsets":[12,28],"dtype":"F64"})",
        R"("b":{"data_offsets":[12,28],"dtype":"F64","shape":[2],"more":0})", R"("b":[12,28])", R"("b":null)"})
    EXPECT_THAT(refusal(edited(b, bad)), AllOf(HasSubstr("model file"), Not(HasSubstr("checksum")))) << bad;
}

TEST(State, AReaderNamesTheTensorThatDoesNotFit) {
  const Tensors in = small();
  const auto read = [&](const std::string& name, auto value) -> std::string {
    Reader reader(in);
    try {
      reader(name, value);
    } catch (const DataError& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_EQ(read("b", std::vector<double>{}), "accepted");
  EXPECT_THAT(read("missing", std::vector<double>{}), AllOf(HasSubstr("'missing'"), HasSubstr("missing")));
  EXPECT_THAT(read("b", std::vector<float>{}), AllOf(HasSubstr("'b'"), HasSubstr("F64"), HasSubstr("F32")));
  EXPECT_THAT(read("b", 0.0), AllOf(HasSubstr("'b'"), HasSubstr("2"), HasSubstr("1")));
}

TEST(State, AReaderRefusesTensorsNobodyAskedFor) {
  const Tensors in = small();
  Reader reader(in);
  std::vector<std::uint32_t> a;
  std::vector<double> b;
  std::vector<float> none;
  reader("a", a);
  reader("b", b);
  reader("none", none);
  EXPECT_THROW(reader.finish(), DataError);
  std::vector<char> c;
  reader.part("")("c", c);
  EXPECT_NO_THROW(reader.finish());
  EXPECT_EQ(a, (std::vector<std::uint32_t>{1, 2, 3}));
  EXPECT_EQ(c, std::vector<char>{'x'});
}

}  // namespace
}  // namespace quorate::test
