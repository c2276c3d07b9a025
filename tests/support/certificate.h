// A certificate for tests of TLS.
#pragma once
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <cstddef>
#include <stdexcept>
#include <string>

namespace quorate::test {

/// A key, and a certificate of itself for localhost.
struct Certificate {
  std::string key, certificate;

  Certificate() {
    EVP_PKEY* pair = EVP_EC_gen("P-256");
    X509* x509 = X509_new();
    X509_set_version(x509, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(x509), 1);
    X509_gmtime_adj(X509_getm_notBefore(x509), -60);
    X509_gmtime_adj(X509_getm_notAfter(x509), 3600);
    X509_set_pubkey(x509, pair);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x509), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
    X509_set_issuer_name(x509, X509_get_subject_name(x509));
    X509_sign(x509, pair, EVP_sha256());
    key = pem([&](BIO* bio) { return PEM_write_bio_PrivateKey(bio, pair, nullptr, nullptr, 0, nullptr, nullptr); });
    certificate = pem([&](BIO* bio) { return PEM_write_bio_X509(bio, x509); });
    X509_free(x509);
    EVP_PKEY_free(pair);
  }

 private:
  template <class Write>
  static std::string pem(Write write) {
    BIO* bio = BIO_new(BIO_s_mem());
    if (write(bio) != 1) throw std::runtime_error("OpenSSL cannot write PEM");
    char* bytes = nullptr;
    const auto size = BIO_get_mem_data(bio, &bytes);
    std::string text(bytes, static_cast<std::size_t>(size));
    BIO_free(bio);
    return text;
  }
};

}  // namespace quorate::test
